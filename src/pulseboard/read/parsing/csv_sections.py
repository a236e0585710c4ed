"""CSV files whose header changes on the way: every row belongs to the header above it."""

from __future__ import annotations

import csv
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pulseboard.read.axis.build import Column
from pulseboard.read.axis.names import is_counter
from pulseboard.read.parsing.numbers import number
from pulseboard.read.parsing.text import lines_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_NAME_CHARS = 120


@dataclass(frozen=True, slots=True)
class Sections:
    """The numbers below all headers. Columns of the same name are one."""

    columns: dict[str, Column]
    row_count: int
    line: int  # of the first header that differs from the one before, from 1


def is_header(cells: Sequence[str], before: Sequence[str]) -> bool:
    """Whether a row is a header that replaces the one before: distinct names, some of them known, or a counter."""
    names = [cell.strip() for cell in cells]
    if len(names) < 2 or list(names) == list(before) or len(set(names)) < len(names):
        return False
    if any(not name or len(name) > _MAX_NAME_CHARS or number(name, decimal_comma=True) is not None for name in names):
        return False
    return any(name in before for name in names) or any(map(is_counter, names))


def read_sections(path: str, delimiter: str) -> Sections:
    """Read a file row by row. Cells that are not numbers are left out, and so is the last line if it is incomplete."""
    columns: dict[str, tuple[array[int], array[float]]] = {}
    names: list[str] = []
    row, first_change = 0, 0
    for line in lines_of(path):
        if not line.complete or not line.text.strip() or line.text.startswith("#"):
            continue
        cells = _cells(line.text, delimiter)
        if cells == names:
            continue
        if not names or is_header(cells, names):
            first_change = first_change or (line.number if names else 0)
            names = cells
            continue
        found = [(name, number(cell, decimal_comma=delimiter != ",")) for name, cell in zip(names, cells, strict=False)]
        for name, value in found:
            if value is not None:
                column = columns.setdefault(name, (array("q"), array("d")))
                column[0].append(row)
                column[1].append(value)
        row += any(value is not None for _, value in found)
    made = {name: Column(np.array(rows, np.int64), np.array(values)) for name, (rows, values) in columns.items()}
    return Sections(made, row, first_change)


def _cells(text: str, delimiter: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([text], delimiter=delimiter, skipinitialspace=True), [])]
    except csv.Error:
        return []
