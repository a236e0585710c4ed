"""A static picture of scalars with matplotlib: one panel per tag, one curve per run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pulseboard.core.errors import MissingPackage, PulseboardError
from pulseboard.read.run import Run
from pulseboard.read.runs import Runs, read

_MAX_TAGS = 12
_COLUMNS = 3


def plot(
    *paths: str | os.PathLike[str] | Runs | Run,
    tag: str = "",
    runs: Iterable[str] | None = None,
    smoothing: float = 0.0,
    log: bool = False,
) -> Any:
    """Draw the scalars of runs and return the matplotlib figure. See `pulseboard.plot`."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPackage("pb.plot", package="matplotlib", extra="alerts") from error
    if not 0 <= smoothing < 1:
        raise PulseboardError(f"smoothing must be from 0 to below 1, not {smoothing!r}.")
    chosen = _chosen(paths, None if runs is None else set(runs))
    try:
        pattern = re.compile(tag)
    except re.error as error:
        raise PulseboardError(f"Invalid regular expression {tag!r}: {error}.") from None
    tags = [one for one in dict.fromkeys(t for run in chosen for t in run.tags("scalar")) if pattern.search(one)]
    if not tags:
        raise PulseboardError(f"No scalar of {len(chosen)} runs matches {tag!r}.")
    if len(tags) > _MAX_TAGS:
        raise PulseboardError(
            f"{len(tags)} tags match {tag!r}; at most {_MAX_TAGS} fit a picture. Narrow it with tag=."
        )
    columns = min(_COLUMNS, len(tags))
    rows = -(-len(tags) // columns)
    figure = Figure(figsize=(4.5 * columns, 3.0 * rows), layout="constrained")
    for i, one in enumerate(tags):
        _panel(figure.add_subplot(rows, columns, i + 1), one, chosen, smoothing, log)
    return figure


def _chosen(paths: Sequence[Any], names: set[str] | None) -> list[Run]:
    found: list[Run] = []
    for path in paths:
        found += [path] if isinstance(path, Run) else (path if isinstance(path, Runs) else read(path)).values()
    chosen = [run for run in found if names is None or run.name in names]
    if not chosen:
        raise PulseboardError("There are no runs to plot.")
    return chosen


def _panel(axes: Any, tag: str, runs: Sequence[Run], smoothing: float, log: bool) -> None:
    for run in runs:
        if tag in run.tags("scalar"):
            series = run.series(tag)
            (line,) = axes.plot(series.steps, _smoothed(series.values, smoothing), label=run.name, linewidth=1.2)
            if smoothing:
                axes.plot(series.steps, series.values, color=line.get_color(), alpha=0.25, linewidth=0.8)
    axes.set_title(tag, fontsize=10, loc="left")
    axes.set_xlabel("step", fontsize=8)
    if log:
        axes.set_yscale("log")
    if len(runs) > 1:
        axes.legend(fontsize=7)


def _smoothed(values: Any, weight: float) -> Any:
    """An exponential average without the bias of its start; values that are not finite stay as they are."""
    if not weight:
        return values
    out, last, total = np.array(values, float), 0.0, 0.0
    for i, value in enumerate(values.tolist()):
        if np.isfinite(value):
            last, total = weight * last + (1 - weight) * value, weight * total + (1 - weight)
            out[i] = last / total
    return out
