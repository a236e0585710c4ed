"""A training as one CSV file, with column names that all peers recognize."""

import csv
import io

import numpy as np

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.cases import Training

# Role -> column, from the peers' own documentation; one spelling works for all three.
COLUMNS = {
    "train.loss": "train_loss",
    "rl.loss": "train_loss",  # if there is no other; the peers would read it as the training loss
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
# Times are in seconds unless the tag has one of these endings; the peers expect seconds.
_MILLISECOND_ENDINGS = ("_ms", "(ms)", "_millis")


def as_csv(training: Training, case: Case) -> str:
    """One line per step; a cell is empty if the metric was not logged at that step.

    Roles are assigned by our own recognition of tags, so that no peer has to guess.
    """
    columns: dict[str, dict[int, float]] = {}
    wall_times: dict[int, float] = {}
    for role, column in COLUMNS.items():
        tag = case.reading.first(role)
        if tag is None or column in columns:
            continue
        series = _series(training, tag)
        if series is None:
            continue
        scale = 1e-3 if tag.lower().endswith(_MILLISECOND_ENDINGS) else 1.0
        kept = ~series.orphaned
        steps = series.steps[kept].tolist()
        columns[column] = dict(zip(steps, (series.values[kept] * scale).tolist(), strict=True))
        wall_times.update(zip(steps, series.wall_times[kept].tolist(), strict=True))
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(["step", "timestamp", *columns])
    for step in sorted(wall_times):
        cells = [_cell(column.get(step)) for column in columns.values()]
        lines.writerow([step, f"{wall_times[step]:.3f}" if np.isfinite(wall_times[step]) else "", *cells])
    return out.getvalue()


def _series(training: Training, tag: str):
    for prefix, run in training.parts:
        name = tag.removeprefix(prefix)
        if tag.startswith(prefix) and name in run.tags("scalar"):
            return run.series(name)
    return None


def _cell(value: float | None) -> str:
    return "" if value is None else repr(value)
