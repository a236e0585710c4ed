"""Samples: taken at quiet moments and in turn, and their medians."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import psutil

Sample = dict[str, Any]

# A sample that other processes disturbed is taken again at most this often, and only if it is short.
_MAX_RETAKES = 2
_SHORT_SECS = 10.0
_LOOK_SECS = 0.2


class ToolFailed(Exception):
    """A measured program failed, so there is no figure to report."""


class WrongResult(Exception):
    """Readers disagree about a log: one of them is wrong, and its speed means nothing."""


@dataclass(slots=True)
class Quiet:
    """Waits for moments when other processes leave the machine alone, and keeps a record of how quiet it was."""

    wait_secs: float  # at most, before each sample; 0: never wait, and keep every sample
    level: float  # cores that others may use
    budget_secs: float = 60.0  # for all waits together, so that the benchmark ends on a busy machine too
    others: list[float] = field(default_factory=list)  # cores that others used during each sample kept

    def wait(self) -> None:
        """Return at a quiet moment, or after `wait_secs`."""
        end = time.monotonic() + min(self.wait_secs, self.budget_secs)
        while time.monotonic() < end:
            before = _busy_secs()
            time.sleep(_LOOK_SECS)
            if (_busy_secs() - before) / _LOOK_SECS < self.level:
                return
            self.budget_secs -= _LOOK_SECS

    def sample(self, measure: Callable[[], Sample]) -> Sample:
        """Take one sample, and take it again if others used more than twice `level` and waiting may help."""
        for attempt in range(_MAX_RETAKES + 1):
            self.wait()
            busy, began = _busy_secs(), time.perf_counter()
            own = time.process_time()
            sample = measure()
            wall_secs = time.perf_counter() - began
            used = sample["cpu_s"] + time.process_time() - own
            sample["other_cpu"] = max(0.0, _busy_secs() - busy - used) / wall_secs
            # Decided by what other processes did and never by the figure itself: that would bias the figure.
            disturbed = sample["other_cpu"] > 2 * self.level and wall_secs < _SHORT_SECS
            if not disturbed or not self.wait_secs or self.budget_secs <= 0 or attempt == _MAX_RETAKES:
                break
        self.others.append(sample["other_cpu"])
        return sample

    def summary(self) -> str:
        """How quiet the machine was, for the report."""
        if not self.others:
            return f"load average {psutil.getloadavg()[0]:.1f} at the end"
        median, worst = statistics.median(self.others), max(self.others)
        return f"other processes used {median:.2f} cores in the median sample, {worst:.2f} in the worst"


def _busy_secs() -> float:
    times = psutil.cpu_times()
    return sum(getattr(times, kind, 0.0) for kind in ("user", "nice", "system", "irq", "softirq"))


def interleaved(
    measures: Mapping[str, Callable[[], Sample]], *, repeat: Mapping[str, int], quiet: Quiet
) -> dict[str, list[Sample]]:
    """Samples of each measure, taken in turn, so that a slow minute of the machine affects all of them."""
    samples: dict[str, list[Sample]] = {name: [] for name in measures}
    for i in range(max(repeat.values(), default=0)):
        for name, measure in measures.items():
            if i < repeat[name]:
                samples[name].append(quiet.sample(measure))
    return samples


def median(samples: list[Sample], key: str) -> float:
    """The median of one figure."""
    return statistics.median(sample[key] for sample in samples)
