"""Tables whose rows end in a progress bar, below a header for every epoch: what YOLOv5, YOLOv7 and Ultralytics print.

Epoch    GPU_mem   box_loss   obj_loss   cls_loss  Instances       Size
 0/14       2.1G     0.1105    0.01743     0.0765          3        320: 100%|██████████| 19/19 [02:52<00:00]
           Class     Images  Instances          P          R      mAP50   mAP50-95: 100%|██████████| 10/10
             all        289        289    0.00176      0.192     0.0011   0.000251
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.formats.json_records import RecordTable
from pulseboard.read.parsing.numbers import number
from pulseboard.read.parsing.prose import is_settings
from pulseboard.read.parsing.table_runs import runs_of_table
from pulseboard.read.parsing.text import lines_of

_MAX_CHARS = 4000
_COLORS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_BAR = re.compile(r":\s+(?P<percent>\d+)%.*")
_COUNT = re.compile(r"(\d+)/(\d+)")
_SIZE = re.compile(r"([\d.]+)G")
_SETTING = re.compile(r"(\w+)=(\[[^\]]*\]|[^,]*)(?:,\s+|,?$)")
_NAME = re.compile(r"[A-Za-z_][\w/.@%:()\-]*")
# Counts of what was in a batch or a data set, and the size of the pictures.
_NOT_METRICS = frozenset("images instances labels targets size img_size".split())
_NAMES = {"P": "precision", "R": "recall"}
_MIN_NAMES = 4


class _Tables:
    """The rows of both tables: one per epoch, with the results of the validation after it."""

    def __init__(self) -> None:
        self.table = RecordTable()
        self.config: dict[str, Any] = {}
        self.has_rows = False  # also unfinished ones
        self._names: list[str] = []  # of the training's table
        self._scores: list[str] = []  # of the validation's
        self._epoch: dict[str, float] = {}  # the last row that is finished, until it is validated

    def read(self, line: str) -> None:
        """Take a line, or one drawing of a progress bar."""
        if len(line) > _MAX_CHARS:
            return
        text = _COLORS.sub("", line).strip()
        bar = _BAR.search(text)
        cells = (text[: bar.start()] if bar else text).split()
        if not cells:
            return
        if cells[0] == "Epoch" and len(cells) >= _MIN_NAMES and all(map(_NAME.fullmatch, cells)):
            self._names = cells
        elif cells[0] in ("Class", "classes") and len(cells) > 1 and all(map(_NAME.fullmatch, cells)):
            self._scores = _in_groups(cells)
        elif bar is not None and (row := _row(cells, self._names)):
            self.has_rows = True
            if int(bar["percent"]) == 100:
                self._next(row)
        elif cells[0] == "all" and (row := _scores(cells, self._scores)) and self._epoch:
            self._epoch |= row
            self.finish()
        elif is_settings(text) or text.startswith("hyperparameters:"):
            self.config |= {name: _value(value) for name, value in _SETTING.findall(text)}

    def _next(self, row: dict[str, float]) -> None:
        if row["epoch"] != self._epoch.get("epoch"):
            self.finish()
        self._epoch = row

    def finish(self) -> None:
        """Add the epoch that no validation has followed yet. What follows then, such as one of the best epoch's
        weights, belongs to no epoch."""
        if self._epoch:
            self.table.add(self._epoch)
        self._epoch = {}


def _row(cells: list[str], names: list[str]) -> dict[str, float]:
    """A row of the training's table: the epoch and how many there are, numbers, and sizes such as 2.1G."""
    count = _COUNT.fullmatch(cells[0])
    if count is None or len(cells) != len(names):
        return {}
    row = {"epoch": float(count[1])}
    for name, cell in zip(names[1:], cells[1:], strict=True):
        value = float(size[1]) * 1e9 if (size := _SIZE.fullmatch(cell)) else number(cell)
        if value is None:
            return {}
        if name.lower() not in _NOT_METRICS:
            row[f"train/{name}"] = value
    return row


def _scores(cells: list[str], names: list[str]) -> dict[str, float]:
    """The row of all classes in the validation's table."""
    values = [number(cell) for cell in cells[1:]]
    if len(cells) != len(names) or None in values:
        return {}
    pairs = zip(names[1:], values, strict=True)
    return {f"val/{name}": value for name, value in pairs if value is not None and name.lower() not in _NOT_METRICS}


def _in_groups(cells: list[str]) -> list[str]:
    """The names of a header, `Class Box(P R mAP50) Mask(P R mAP50)`, with their groups if there are several."""
    groups = sum("(" in cell for cell in cells)
    names, group = [], ""
    for cell in cells:
        if "(" in cell:
            group, _, cell = cell.partition("(")
        name = _NAMES.get(cell.rstrip(")"), cell.rstrip(")"))
        names.append(f"{group.lower()}/{name}" if group and groups > 1 else name)
        if cell.endswith(")"):
            group = ""
    return names


def _value(text: str) -> Any:
    value = number(text)
    if value is not None:
        return int(value) if text.lstrip("-").isdigit() else value
    return {"True": True, "False": False, "None": None}.get(text, text)


def _is_progress_table(candidate: Candidate) -> bool:
    tables = _Tables()
    for line in candidate.lines if b"Epoch" in candidate.head else ():
        if "Epoch" in line or "%" in line:
            tables.read(line)
        if tables.has_rows:
            return True
    return False


@reader(id="progress-tables", files=("*.log", "*.txt", "*.out", "*.err"), recognizes=_is_progress_table)
def read_progress_tables(path: str) -> Iterator[RunData]:
    """One row per epoch whose progress bar came to its end. Lists of settings are the configuration."""
    tables = _Tables()
    for line in lines_of(path):
        if line.complete:
            tables.read(line.text)
    tables.finish()
    yield from runs_of_table(tables.table.columns(), tables.table.row_count, path=path, config=tables.config)
