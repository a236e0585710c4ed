"""A training as one CSV file, each column under a name that all the peers know."""

import csv
import io

import numpy as np

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.cases import Training

# Role -> column. The peers' own documents name these; one spelling serves all three.
COLUMNS = {
    "train.loss": "train_loss",
    "rl.loss": "train_loss",  # where there is no other: the peers would take it for one
    "gan.loss": "train_loss",
    "val.loss": "val_loss",
    "lr": "lr",
    "gradient.norm": "grad_norm",
    "gradient.norm_after": "grad_norm",
    "epoch": "epoch",
    "time.step": "step_time",
    "time.data": "data_time",
    "throughput": "throughput",
    "gpu.util": "gpu_util",
    "memory.used": "memory_allocated",
}
# The peers count in seconds, and so do we unless a tag says that it does not.
_MILLISECONDS = ("_ms", "(ms)", "_millis")


def as_csv(training: Training, case: Case) -> str:
    """A line a step; a cell is empty where the metric was not logged at that step.

    Our reading of names decides which tag is which, so that no peer has to guess.
    """
    columns: dict[str, dict[int, float]] = {}
    walls: dict[int, float] = {}
    for role, column in COLUMNS.items():
        tag = case.reading.first(role)
        if tag is None or column in columns:
            continue
        series = _series(training, tag)
        if series is None:
            continue
        scale = 1e-3 if tag.lower().endswith(_MILLISECONDS) else 1.0
        kept = ~series.orphaned
        steps = series.steps[kept].tolist()
        columns[column] = dict(zip(steps, (series.values[kept] * scale).tolist(), strict=True))
        walls.update(zip(steps, series.wall_times[kept].tolist(), strict=True))
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(["step", "timestamp", *columns])
    for step in sorted(walls):
        cells = [_cell(column.get(step)) for column in columns.values()]
        lines.writerow([step, f"{walls[step]:.3f}" if np.isfinite(walls[step]) else "", *cells])
    return out.getvalue()


def _series(training: Training, tag: str):
    for prefix, run in training.parts:
        name = tag.removeprefix(prefix)
        if tag.startswith(prefix) and name in run.tags("scalar"):
            return run.series(name)
    return None


def _cell(value: float | None) -> str:
    return "" if value is None else repr(value)
