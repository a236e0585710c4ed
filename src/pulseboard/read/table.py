"""Series stacked into one long table, with columns that say whose they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pulseboard.core.series import Series


def long_table(parts: Iterable[tuple[tuple[str, ...], Series]], *, labels: tuple[str, ...]) -> dict[str, Any]:
    """One table of many series. Each part's names, one for each label, are repeated for each of its points."""
    import numpy as np

    columns: dict[str, list[Any]] = {label: [np.empty(0, np.str_)] for label in labels}
    columns |= {"step": [np.empty(0, np.int64)], "wall_time": [np.empty(0)], "value": [np.empty(0)]}
    for names, series in parts:
        # Object arrays of one shared string: eight bytes a row, whatever the name's length.
        repeated = {label: np.full(len(series), name, object) for label, name in zip(labels, names, strict=True)}
        for key, column in {**repeated, **series.columns()}.items():
            columns[key].append(column)
    # The empty array gives the type where there is nothing else; strings before objects would copy each.
    return {key: np.concatenate(arrays[1:] or arrays) for key, arrays in columns.items()}
