"""Tables: runs with their hyperparameters, configuration and what their metrics came to."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from pulseboard.files import kinds, layout
from pulseboard.files.hparams import hparams_from
from pulseboard.read.run import Run
from pulseboard.store.catalogue import Shape
from pulseboard.store.curve import Curve
from pulseboard.store.query import BadQuery, Metric, Row, RunTable

_MOST_RUN_FILE_BYTES = 8 << 20
_DEEPEST = 20

# Words of a tag by which more is better. Anything else is taken for a loss, a time or a size.
_MORE_IS_BETTER = re.compile(
    r"(?<![a-z])(acc|accuracy|auc|auroc|f1|precision|recall|reward|return|score|iou|map|ndcg|mrr|bleu|rouge|psnr|ssim|"
    r"r2|mfu|throughput|tokens_per_sec|tps|samples_per_sec|win_rate|success_rate)(?![a-z])",
    re.IGNORECASE,
)


def better_of(tag: str) -> Literal["min", "max"]:
    """Which end of a metric is the good one, by its name."""
    return "max" if _MORE_IS_BETTER.search(tag) else "min"


def table(
    runs: Sequence[Run],
    metrics: Sequence[str],
    *,
    curve_of: Callable[[Run, str], Curve | None],
    shape_of: Callable[[Run], Shape],
    better: Mapping[str, str],
) -> RunTable:
    """A row for each run. A metric that a run does not have is left out of its row."""
    for tag, end in better.items():
        if end not in ("min", "max"):
            raise BadQuery(f"The best of {tag!r} cannot be its {end!r}; use min or max.")
    rows = []
    for run in runs:
        values = {tag: curve for tag in dict.fromkeys(metrics) if (curve := curve_of(run, tag))}
        of_run = {tag: _metric(curve, better.get(tag) or better_of(tag)) for tag, curve in values.items()}
        rows.append(Row(run.name, hparams_of(run, shape_of(run)), config_of(run), of_run))
    return RunTable(
        hparams=tuple(dict.fromkeys(name for row in rows for name in row.hparams)),
        config=tuple(dict.fromkeys(name for row in rows for name in row.config)),
        metrics=tuple(dict.fromkeys(metrics)),
        rows=tuple(rows),
    )


def _metric(curve: Curve, better: str) -> Metric:
    with curve.lock:
        line = curve.live
        low, low_step, high, high_step = line.extremes()
        last, last_step = line.last()
    best, best_step = (low, low_step) if better == "min" else (high, high_step)
    return Metric(last, last_step, low, low_step, high, high_step, best, best_step, "min" if better == "min" else "max")


def settings_of(run: Run, shape: Shape) -> dict[str, Any]:
    """Hyperparameters and configuration as one; of two with one name the hyperparameter counts."""
    return {**config_of(run), **hparams_of(run, shape)}


def hparams_of(run: Run, shape: Shape) -> dict[str, float | str | bool | None]:
    """The run's hyperparameters; empty where it has none. `shape` are its tags."""
    # As Run.hparams, but not by way of every tag: a thousand runs of hundreds of tags would take a second.
    tags = (
        [tag for tag, of_tag in shape.tags.items() if kinds.HPARAMS in of_tag] if kinds.HPARAMS in shape.kinds else []
    )
    records = [record for tag in tags for record in run.values(tag, kind=kinds.HPARAMS)]
    return dict(hparams_from(records).values) if records else {}


def config_of(run: Run) -> dict[str, Any]:
    """The configuration in the run's run.json, nested names joined by dots. Empty where there is none to read."""
    path = os.path.join(run.directory.removesuffix(os.sep + layout.EVENTS_DIRECTORY), layout.RUN_FILE)
    if os.path.islink(path):  # we write none: it would show whatever somebody else makes it lead to
        return {}
    try:
        with open(path, "rb") as stream:
            told = json.loads(stream.read(_MOST_RUN_FILE_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    config = told.get("config") if isinstance(told, dict) else None
    out: dict[str, Any] = {}
    if isinstance(config, dict):
        _flatten(config, "", out, 0)
    return out


def _flatten(config: Mapping[str, Any], prefix: str, out: dict[str, Any], depth: int) -> None:
    for name, value in config.items():
        if isinstance(value, dict) and value and depth < _DEEPEST:
            _flatten(value, f"{prefix}{name}.", out, depth + 1)
        elif isinstance(value, float) and not math.isfinite(value):
            out[prefix + name] = str(value)
        elif value is None or isinstance(value, bool | int | float | str):
            out[prefix + name] = value
        else:
            out[prefix + name] = json.dumps(value, ensure_ascii=False)
