"""The runs of a log directory at one moment: by name, by alias, and in order."""

from __future__ import annotations

from collections.abc import Iterable

from pulseboard.read.run import Run


class Snapshot:
    """The runs at one moment. A poll replaces it with another, so readers in other threads keep a consistent one.

    The order and the aliases are computed on demand: a poll of one run does not pay for all of them.
    """

    def __init__(self, runs: dict[str, Run]) -> None:
        self.runs = runs
        self._order: list[str] | None = None
        self._order_before: list[str] | None = None
        self._other_names: dict[str, Run] | None = None

    def find(self, name: str) -> Run | None:
        """The run of this name; else the run with this alias, or the rank of a run that has this name."""
        return self.runs.get(name) or self._by_other_names().get(name)

    def order(self) -> list[str]:
        """The names of the runs, most recently active first."""
        if self._order is None:
            # Start from the previous order if there is one: sorting a nearly sorted list is fast.
            self._order = newest_first([self.runs[name] for name in self._order_before or self.runs])
        return self._order

    def after_growth(self) -> Snapshot:
        """The same runs under the same names, whose order may have changed."""
        after = Snapshot(self.runs)
        after._order_before = self._order or self._order_before
        after._other_names = self._other_names
        return after

    def with_replaced(self, runs: dict[str, Run]) -> Snapshot:
        """The same names, with other runs for some of them."""
        after = Snapshot(self.runs | runs)
        after._order_before = self._order or self._order_before
        return after

    def _by_other_names(self) -> dict[str, Run]:
        if self._other_names is None:
            # In reverse order of name: if two runs share an alias, the first by name gets it.
            runs = sorted(self.runs.values(), key=lambda run: run.name, reverse=True)
            names = {alias: run for run in runs for alias in run.aliases}
            names |= {rank.name: rank for run in runs for rank in run.ranks.values() if rank is not run}
            self._other_names = names
        return self._other_names


def newest_first(runs: Iterable[Run]) -> list[str]:
    """The names of runs, most recently active first; those of the same moment in order of name."""
    return [name for _, name in sorted([(-run.last_active, run.name) for run in runs])]
