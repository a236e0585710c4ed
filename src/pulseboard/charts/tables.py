"""Tables: runs with their hyperparameters, config and summaries of their metrics."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from pulseboard.charts.curve import Curve
from pulseboard.charts.query import BadQuery
from pulseboard.charts.results import RunTable, ScalarSummary, TableRow
from pulseboard.charts.tag_sets import TagSet
from pulseboard.core.cancellation import checkpoint
from pulseboard.core.config import flatten
from pulseboard.core.json_numbers import encode_number
from pulseboard.core.tag_names import better_end
from pulseboard.read.parsed_run import ParsedRun
from pulseboard.read.run import Run
from pulseboard.rundir import layout
from pulseboard.rundir.run_file import find_run_file
from pulseboard.tbformat import kinds

_MAX_DEPTH = 20
_MAX_CONFIGS = 1 << 15


def table(
    runs: Sequence[Run],
    metrics: Sequence[str],
    *,
    curve_of: Callable[[Run, str], Curve | None],
    tags_of: Callable[[Run], TagSet],
    better: Mapping[str, str],
) -> RunTable:
    """One row per run. Metrics that a run lacks are left out of its row."""
    for tag, end in better.items():
        if end not in ("min", "max"):
            raise BadQuery(f"The better end of {tag!r} is {end!r}; use min or max.")
    rows = []
    for run in runs:
        checkpoint()
        curves = {tag: curve for tag in dict.fromkeys(metrics) if (curve := curve_of(run, tag))}
        summaries = {tag: _summary(curve, better.get(tag) or better_end(tag)) for tag, curve in curves.items()}
        rows.append(TableRow(run.name, hparams_of(run, tags_of(run)), config_of(run), summaries))
    return RunTable(
        hparams=tuple(dict.fromkeys(name for row in rows for name in row.hparams)),
        config=tuple(dict.fromkeys(name for row in rows for name in row.config)),
        metrics=tuple(dict.fromkeys(metrics)),
        rows=tuple(rows),
    )


def _summary(curve: Curve, better: str) -> ScalarSummary:
    with curve.lock:
        low, low_step, high, high_step = curve.live.extremes()
        last, last_step = curve.live.last()
    best, best_step = (low, low_step) if better == "min" else (high, high_step)
    return ScalarSummary(
        last, last_step, low, low_step, high, high_step, best, best_step, "min" if better == "min" else "max"
    )


def settings_of(run: Run, tags: TagSet) -> dict[str, Any]:
    """Hyperparameters and config merged; if both have a name, the hyperparameter counts."""
    return {**config_of(run), **hparams_of(run, tags)}


def hparams_of(run: Run, tags: TagSet) -> dict[str, float | str | bool | None]:
    """The run's hyperparameters; empty if it has none."""
    # The kinds of its tags first: with a thousand runs of hundreds of tags, looking at each one takes a second.
    return dict(run.hparam_values()) if kinds.HPARAMS in tags.kinds else {}


def config_of(run: Run) -> dict[str, Any]:
    """The configuration in the run's run.json and in its logs, nested names joined by dots; empty if there is none."""
    merged: dict[str, Any] = dict(_recorded_config(layout.recorded_directory(run.directory)))
    configs = [log.config() for log in run.logs() if isinstance(log, ParsedRun)]
    for config in configs:
        for name, value in flatten(config, max_depth=_MAX_DEPTH):
            merged.setdefault(name, _shown(value))
    return merged


def _recorded_config(directory: str) -> Mapping[str, Any]:
    """The config in a directory's run.json, which is read again only if the file has changed."""
    try:
        status = os.stat(os.path.join(directory, layout.RUN_FILE), follow_symlinks=False)
    except OSError:
        return {}
    return _config_of_version(directory, (status.st_mtime_ns, status.st_size, status.st_ino))


@lru_cache(maxsize=_MAX_CONFIGS)
def _config_of_version(directory: str, version: tuple[int, int, int]) -> Mapping[str, Any]:
    run_file = find_run_file(directory)
    config = {} if run_file is None else run_file.config
    return {name: _shown(value) for name, value in flatten(config, max_depth=_MAX_DEPTH)}


def _shown(value: Any) -> float | str | bool | None:
    if isinstance(value, float):
        return encode_number(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    return json.dumps(value, ensure_ascii=False)
