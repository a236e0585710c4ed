"""The summary of an active run: the last, smallest, largest and best value of each metric, and what the user adds."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Goal = Literal["minimize", "maximize"]
_STATISTICS = ("last", "min", "max", "best")


@dataclass(slots=True)
class Statistics:
    """Of one metric. NaN and infinities count as the last value only."""

    goal: Goal | None = None
    last: float = math.nan
    min: float = math.nan
    max: float = math.nan
    best: float | None = None  # None without a goal
    best_step: int | None = None

    def add(self, value: float, step: int) -> None:
        """Count another value."""
        self.last = value
        if not math.isfinite(value):
            return
        self.min = value if math.isnan(self.min) else min(self.min, value)
        self.max = value if math.isnan(self.max) else max(self.max, value)
        extreme = {"minimize": self.min, "maximize": self.max}.get(self.goal or "")
        if extreme is not None and extreme != self.best:
            self.best, self.best_step = extreme, step


class RunSummary(MutableMapping[str, Any]):
    """`summary["val/loss"]` is the last value, `summary["val/loss.best"]` the best; .min and .max work too.

    Only metrics that were declared with `define_metric` are followed. Everything else is what the user sets.
    """

    def __init__(self, stored: Mapping[str, Any] | None, on_change: Callable[[], None]) -> None:
        self._declared: dict[str, Goal | None] = {}  # by name or pattern
        self._metrics: dict[str, Statistics | None] = {}  # by tag; None: not declared
        self._set: dict[str, Any] = {}
        self._on_change = on_change
        for tag, value in (stored or {}).items():  # of a run that is resumed
            if isinstance(value, Mapping) and "last" in value:
                known: dict[str, Any] = {name: value.get(name) for name in Statistics.__slots__}
                self._metrics[tag] = Statistics(**known)
            else:
                self._set[tag] = value

    @property
    def follows(self) -> bool:
        """Whether any metric is followed."""
        return bool(self._declared)

    def define(self, name: str, goal: Goal | None) -> None:
        """Follow the metrics that `name`, which may be a pattern such as `val/*`, stands for."""
        self._declared[name] = goal
        self._metrics = {tag: found for tag, found in self._metrics.items() if found is not None}
        for tag, found in self._metrics.items():
            if found is not None and fnmatch.fnmatchcase(tag, name):
                found.goal = goal

    def add(self, values: Mapping[str, float], step: int) -> None:
        """Count the values of one `log` call."""
        for tag, value in values.items():
            if tag not in self._metrics:
                goals = [g for name, g in self._declared.items() if name == tag or fnmatch.fnmatchcase(tag, name)]
                self._metrics[tag] = Statistics(goal=goals[-1]) if goals else None
            found = self._metrics[tag]
            if found is not None:
                found.add(value, step)

    def as_json(self) -> dict[str, Any]:
        """For run.json: statistics by tag, and what the user set."""
        return {**{tag: asdict(found) for tag, found in self._metrics.items() if found is not None}, **self._set}

    def __getitem__(self, name: str) -> Any:
        if name in self._set:
            return self._set[name]
        tag, dot, statistic = name.rpartition(".")
        if dot and statistic in _STATISTICS and (found := self._metrics.get(tag)) is not None:
            return getattr(found, statistic)
        if (found := self._metrics.get(name)) is not None:
            return found.last
        raise KeyError(name)

    def __setitem__(self, name: str, value: Any) -> None:
        self._set[name] = value
        self._on_change()

    def __delitem__(self, name: str) -> None:
        del self._set[name]
        self._on_change()

    def __iter__(self) -> Iterator[str]:
        yield from (tag for tag, found in self._metrics.items() if found is not None and tag not in self._set)
        yield from self._set

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(dict(self))
