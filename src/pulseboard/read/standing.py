"""Which runs a log has at one moment: by name, by their other names, and in order."""

from __future__ import annotations

from collections.abc import Iterable

from pulseboard.read.run import Run


class Standing:
    """The runs at one moment. A poll puts another in its place, so that readers in other threads keep theirs whole.

    The order and the other names are found when somebody asks: a poll of one run does not pay for the rest.
    """

    def __init__(self, runs: dict[str, Run]) -> None:
        self.runs = runs
        self._order: list[str] | None = None
        self._order_before: list[str] | None = None
        self._other_names: dict[str, Run] | None = None

    def find(self, name: str) -> Run | None:
        """The run of this name, or else the run with this alias, or the rank of a run that goes by it."""
        return self.runs.get(name) or self._by_other_names().get(name)

    def order(self) -> list[str]:
        """The names of the runs, the most recently active first."""
        if self._order is None:
            # From the order before, where there is one: nearly sorted is soon sorted.
            self._order = newest_first([self.runs[name] for name in self._order_before or self.runs])
        return self._order

    def after_growth(self) -> Standing:
        """The same runs by the same names, in what may be another order."""
        after = Standing(self.runs)
        after._order_before = self._order or self._order_before
        after._other_names = self._other_names
        return after

    def _by_other_names(self) -> dict[str, Run]:
        if self._other_names is None:
            # In reverse order of name: of two runs with one alias, the first by name has it.
            runs = sorted(self.runs.values(), key=lambda run: run.name, reverse=True)
            names = {alias: run for run in runs for alias in run.aliases}
            names |= {rank.name: rank for run in runs for rank in run.ranks.values() if rank is not run}
            self._other_names = names
        return self._other_names


def newest_first(runs: Iterable[Run]) -> list[str]:
    """The names of runs, the most recently active first; those of one moment by name."""
    return [name for _, name in sorted([(-run.last_active, run.name) for run in runs])]
