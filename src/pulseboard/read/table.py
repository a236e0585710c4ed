"""Series stacked into one long table, with columns for the run and the tag each point belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pulseboard.core.series import Series
from pulseboard.tbformat import kinds

if TYPE_CHECKING:
    from pulseboard.read.run import Run


def table_of_runs(runs: Mapping[str, Run]) -> dict[str, Any]:
    """One long table of all scalars of all runs: `run`, `tag`, `step`, `wall_time`, `value`."""
    parts = (((name, tag), run.series(tag)) for name, run in runs.items() for tag in run.tags(kinds.SCALAR))
    return long_table(parts, labels=("run", "tag"))


def long_table(parts: Iterable[tuple[tuple[str, ...], Series]], *, labels: tuple[str, ...]) -> dict[str, Any]:
    """One table of many series. Each part comes with a name for each label, repeated for each of its points."""
    import numpy as np

    columns: dict[str, list[Any]] = {label: [np.empty(0, np.str_)] for label in labels}
    columns |= {"step": [np.empty(0, np.int64)], "wall_time": [np.empty(0)], "value": [np.empty(0)]}
    for names, series in parts:
        # Object arrays that share one string: eight bytes per row, however long the name is.
        repeated = {label: np.full(len(series), name, object) for label, name in zip(labels, names, strict=True)}
        for key, column in {**repeated, **series.columns()}.items():
            columns[key].append(column)
    # The empty array sets the type of an empty column. Elsewhere it is dropped: joining a string array with
    # object arrays would copy every string.
    return {key: np.concatenate(arrays[1:] or arrays) for key, arrays in columns.items()}
