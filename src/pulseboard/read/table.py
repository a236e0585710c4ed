"""Series stacked into one long table, with columns that say whose they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pulseboard.core.series import Series


def long_table(parts: Iterable[tuple[dict[str, str], Series]]) -> dict[str, Any]:
    """One table of many series. Each part's labels are repeated for each of its points."""
    import numpy as np

    labels: dict[str, list[Any]] = {}
    columns: dict[str, list[Any]] = {"step": [], "wall_time": [], "value": []}
    for names, series in parts:
        for key, name in names.items():
            # Object arrays of one shared string: eight bytes a row, whatever the name's length.
            labels.setdefault(key, []).append(np.full(len(series), name, dtype=object))
        for key, column in series.columns().items():
            columns[key].append(column)
    if not columns["step"]:
        return {
            key: np.empty(0, dtype)
            for key, dtype in (("step", np.int64), ("wall_time", np.float64), ("value", np.float64))
        }
    return {key: np.concatenate(arrays) for key, arrays in {**labels, **columns}.items()}
