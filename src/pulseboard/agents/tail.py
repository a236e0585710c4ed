"""The latest rows of runs: one row per step, with the values that were logged at it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pulseboard.agents.wording import short
from pulseboard.core.tag_names import is_of_machine
from pulseboard.read.run import Run
from pulseboard.read.runs import Runs

# A row with more values does not fit a line. Those of the machine are the first to go.
_MAX_TAGS = 8


@dataclass(frozen=True, slots=True)
class Row:
    """What a run logged at one step."""

    run: str
    step: int
    wall_time: float
    values: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"run": self.run, "step": self.step, "wall_time": self.wall_time, "values": dict(self.values)}

    def line(self, *, with_run: bool) -> str:
        """`step 120  train/loss 0.4321  train/lr 0.0005`."""
        cells = [f"step {self.step}", *(f"{tag} {short(value)}" for tag, value in self.values.items())]
        return "  ".join([self.run, *cells] if with_run else cells)


def shown_tags(run: Run, pattern: re.Pattern[str] | None) -> tuple[list[str], int]:
    """The scalar tags to show, and how many are left out. A pattern selects tags and lifts the limit."""
    tags = run.tags("scalar")
    if pattern is not None:
        return [tag for tag in tags if pattern.search(tag)], 0
    ordered = sorted(tags, key=is_of_machine)
    return ordered[:_MAX_TAGS], max(0, len(ordered) - _MAX_TAGS)


def last_rows(run: Run, tags: Iterable[str], *, rows: int) -> list[Row]:
    """The last rows of a run, in the order of steps."""
    tags = list(tags)
    found = _grouped(run, ((tag, max(0, len(run.series(tag)) - rows)) for tag in tags))
    # The last rows of each tag reach back further for a tag that is logged rarely: only the last steps of all count.
    return found[-rows:] if rows else []


class Follower:
    """Yields what runs log from now on."""

    def __init__(self, runs: Runs, names: Iterable[str], pattern: re.Pattern[str] | None) -> None:
        self._runs, self._pattern = runs, pattern
        self._names = set(names)
        self._read: dict[tuple[str, str], int] = {}
        for name in self._names:
            for tag in shown_tags(runs[name], pattern)[0]:
                self._read[name, tag] = len(runs[name].series(tag))

    def rows(self, *, every_secs: float = 1.0) -> Iterator[Row]:
        """New rows as they come, until the caller stops."""
        for changes in self._runs.follow(every_secs=every_secs):
            for name in (*changes.added, *changes.grown):
                if name in self._names:
                    yield from self._new(self._runs[name])

    def _new(self, run: Run) -> list[Row]:
        tags = shown_tags(run, self._pattern)[0]
        found = _grouped(run, [(tag, self._read.get((run.name, tag), 0)) for tag in tags])
        self._read |= {(run.name, tag): len(run.series(tag)) for tag in tags}
        return found


def _grouped(run: Run, starts: Iterable[tuple[str, int]]) -> list[Row]:
    """The points of each tag from an index on, by step."""
    rows: dict[int, Row] = {}
    for tag, start in starts:
        series = run.series(tag)
        start = start if start <= len(series) else 0  # a restart orphaned points: what is left is another series
        columns = (series.steps[start:].tolist(), series.wall_times[start:].tolist(), series.values[start:].tolist())
        for step, wall_time, value in zip(*columns, strict=True):
            rows.setdefault(step, Row(run.name, step, wall_time, {})).values[tag] = value
    return [rows[step] for step in sorted(rows)]
