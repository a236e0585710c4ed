"""What a small training measured: every step and every evaluation, before a log style picks from it."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

# Higher is better for these; everything else is a loss or an error.
RISING = ("acc", "iou", "map", "r2", "return", "length")


@dataclass(frozen=True)
class Row:
    """One logged moment."""

    step: int
    epoch: int
    time: float  # seconds since the start
    values: dict[str, float]


@dataclass
class Record:
    """The rows of one training."""

    steps: int
    epochs: int
    train: list[Row] = field(default_factory=list)
    val: list[Row] = field(default_factory=list)
    config: dict[str, float | str | None] = field(default_factory=dict)

    def without(self, names: Iterable[str]) -> "Record":
        """The same training with fewer metrics."""
        hidden = set(names)

        def cut(rows: list[Row]) -> list[Row]:
            return [Row(r.step, r.epoch, r.time, {k: v for k, v in r.values.items() if k not in hidden}) for r in rows]

        return Record(self.steps, self.epochs, cut(self.train), cut(self.val), self.config)

    def every(self, interval: int, *, mean: bool) -> list[Row]:
        """Training rows at an interval: the mean since the last one, or the row itself."""
        groups = [self.train[i : i + interval] for i in range(0, len(self.train), interval)]
        return [_mean(group) if mean else group[-1] for group in groups]

    def by_epoch(self) -> list[tuple[Row, Row | None]]:
        """For each epoch the mean of its training rows, and its last evaluation."""
        rows: dict[int, list[Row]] = defaultdict(list)
        for row in self.train:
            rows[row.epoch].append(row)
        evaluated = {row.epoch: row for row in self.val}
        return [(_mean(group), evaluated.get(epoch)) for epoch, group in sorted(rows.items())]


def _mean(rows: list[Row]) -> Row:
    last = rows[-1]
    with np.errstate(all="ignore"):
        values = {k: float(np.mean([row.values[k] for row in rows])) for k in last.values}
    values |= {k: last.values[k] for k in ("lr", "memory_mb") if k in values}
    return Row(last.step, last.epoch, last.time, values)
