"""Progress of a training loop: its recent loss and gradient norm, its speed, and how far it is."""

from __future__ import annotations

import math
from collections import deque

TREND_STEPS = 5
SPIKE_FACTOR = 5.0
# Norms before the first one that can count as a spike: fewer do not show what is normal.
SPIKE_AFTER_STEPS = 3
# The moving average is the mean of the first ten norms; later it moves a tenth of the way to each new one.
_NORM_WEIGHT = 0.1
_RECENT_STEPS = 50


class Progress:
    """Follows a training loop, one value at a time."""

    def __init__(self, *, total_steps: int | None = None) -> None:
        self.total_steps = total_steps
        self._losses: deque[float] = deque(maxlen=TREND_STEPS)
        self._norm = 0.0  # the moving average
        self._norms = 0
        self._durations_ms: deque[float] = deque(maxlen=_RECENT_STEPS)
        self._epochs: deque[tuple[int, float]] = deque(maxlen=_RECENT_STEPS)
        self._times: deque[tuple[int, float]] = deque(maxlen=_RECENT_STEPS)
        self._loss_sum, self._loss_count = 0.0, 0
        self._train_average: float | None = None

    def loss(self, value: float | None) -> str:
        """Add a training loss; returns the sign of its trend."""
        if value is None or not math.isfinite(value):
            return " "
        average = sum(self._losses) / len(self._losses) if self._losses else value
        self._losses.append(value)
        self._loss_sum, self._loss_count = self._loss_sum + value, self._loss_count + 1
        return "\\" if value < average else "/" if value > average else " "

    def norm(self, value: float | None) -> bool:
        """Add a gradient norm; returns whether it is a spike."""
        if value is None:
            return False
        if not math.isfinite(value):
            return True
        limit = SPIKE_FACTOR * self._norm
        has_average = self._norms >= SPIKE_AFTER_STEPS and self._norm > 0
        # A spike enters the average as the limit, so that it does not hide the next one.
        counted = min(value, limit) if has_average else value
        self._norms += 1
        self._norm += (counted - self._norm) * max(_NORM_WEIGHT, 1 / self._norms)
        return has_average and value > limit

    def gap(self, loss: float | None) -> float | None:
        """How far an evaluation's loss is above the average training loss since the previous evaluation."""
        if self._loss_count:
            self._train_average = self._loss_sum / self._loss_count
            self._loss_sum, self._loss_count = 0.0, 0
        return None if loss is None or self._train_average is None else loss - self._train_average

    def step(self, step: int, *, epoch: float | None, duration_ms: float | None) -> tuple[float | None, float | None]:
        """Add a step; returns (percent done, seconds left), each None if it cannot be known."""
        if duration_ms is not None and duration_ms >= 0 and math.isfinite(duration_ms):
            self._durations_ms.append(duration_ms)
        if epoch is not None and math.isfinite(epoch):
            self._epochs.append((step, epoch))
        percent, steps_left = self._of_run(step) if self.total_steps else self._of_epoch(step, epoch)
        if steps_left is None or not self._durations_ms:
            return percent, None
        return percent, steps_left * sum(self._durations_ms) / len(self._durations_ms) / 1000

    def step_at(self, step: int, *, now_secs: float) -> tuple[float | None, float | None]:
        """The same for a step without epoch and duration, from the time at which it was logged."""
        if self._times and step <= self._times[-1][0]:
            self._times.clear()  # restarted
        self._times.append((step, now_secs))
        if not self.total_steps:
            return None, None
        percent, steps_left = self._of_run(step)
        first_step, first_secs = self._times[0]
        if step == first_step:
            return percent, None
        return percent, steps_left * (now_secs - first_secs) / (step - first_step)

    def _of_run(self, step: int) -> tuple[float, float]:
        total = self.total_steps or 0
        return min(100.0, 100.0 * step / total), max(0.0, total - step)

    def _of_epoch(self, step: int, epoch: float | None) -> tuple[float | None, float | None]:
        if epoch is None or not math.isfinite(epoch) or epoch < 0:
            return None, None
        done = epoch % 1.0
        first_step, first_epoch = self._epochs[0]
        if step > first_step and epoch > first_epoch:
            rate = (epoch - first_epoch) / (step - first_step)
        elif step > 0:
            rate = epoch / step
        else:
            rate = 0.0
        return 100.0 * done, (1.0 - done) / rate if rate > 0 else None
