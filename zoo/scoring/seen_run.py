"""A run as someone else would have logged it: other tags, fewer points, no configuration."""

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import Any

import numpy as np

from pulseboard.core.errors import TagNotFound
from pulseboard.core.note import Note
from pulseboard.core.series import Series
from pulseboard.core.values import HParams
from pulseboard.read.run import Restart, Run
from pulseboard.read.stats import ScalarStats, stats_of
from pulseboard.read.tag_info import TagInfo

Points = Callable[[Series], Series | None]

# No run.json and no other file is found here.
NOWHERE = "/nonexistent"


class SeenRun(Run):
    """A view of a run.

    `names` maps its tags to those of the view; other tags are left out. `points` selects the points of each series, and
    None hides the series. `last_step` cuts the run off. With `config`, that is all that is known about the training: no
    run.json and no text is found. Without `other_ranks`, the run has one rank.
    """

    def __init__(
        self,
        run: Run,
        *,
        names: Mapping[str, str] | None = None,
        points: Points | None = None,
        last_step: int | None = None,
        config: Mapping[str, Any] | None = None,
        other_ranks: bool = True,
    ) -> None:
        self._run = run
        self._last_step = last_step
        self._config = config
        self._points = points or (lambda series: series)
        self._cache: dict[tuple[str, bool], Series | None] = {}
        self._sources = {new: old for old, new in (names or {tag: tag for tag in run.infos()}).items()}
        self.name, self.aliases, self.format, self.last_active = run.name, run.aliases, run.format, run.last_active
        hidden = config is not None
        self.directory = f"{NOWHERE}/{run.name}" if hidden else run.directory
        self.path = self.directory if hidden else run.path
        self.ranks = {0: self}
        if other_ranks:
            others = {number: rank for number, rank in run.ranks.items() if number != 0}
            self.ranks |= {
                number: SeenRun(rank, names=names, points=points, last_step=last_step, config=config, other_ranks=False)
                for number, rank in others.items()
            }

    # ---- tags and values

    def infos(self) -> dict[str, TagInfo]:
        known = self._run.infos()
        return {
            new: _renamed(known[old], new)
            for new, old in self._sources.items()
            if old in known and self._shows(known[old], new)
        }

    def _shows(self, info: TagInfo, tag: str) -> bool:
        if self._config is not None and not {"hparams", "text"}.isdisjoint(info.kinds):
            return False  # it may hold the configuration
        return info.points == 0 or self._seen(tag) is not None

    def series(self, tag: str, *, rank: int = 0, orphans: bool = False) -> Series:
        if rank:
            return self._rank(rank).series(tag, orphans=orphans)
        series = self._seen(tag, orphans=orphans)
        if series is None:
            raise TagNotFound(tag, run=self.name, kind="scalar", known=self._sources)
        return series

    def _seen(self, tag: str, *, orphans: bool = False) -> Series | None:
        if tag not in self._sources:
            return None
        if (tag, orphans) not in self._cache:
            self._cache[tag, orphans] = self._select(tag, orphans=orphans)
        return self._cache[tag, orphans]

    def _select(self, tag: str, *, orphans: bool) -> Series | None:
        series = self._run.series(self._sources[tag], orphans=orphans)
        if self._last_step is not None:
            series = select(series, np.flatnonzero(series.steps <= self._last_step))
        seen = self._points(series)
        return None if seen is None else Series(tag, seen.steps, seen.wall_times, seen.values, seen.orphaned)

    def stats(self) -> Iterator[ScalarStats]:
        return (stats_of(self.series(tag)) for tag in self.tags("scalar"))

    def values(self, tag: str, *, kind: str, orphans: bool = False) -> list[Any]:
        values = self._run.values(self._sources[tag], kind=kind, orphans=orphans)
        if self._last_step is None:
            return values
        return [value for value in values if value.step <= self._last_step]

    # ---- configuration

    def hparams(self) -> HParams | None:
        if self._config is None:
            return self._run.hparams()
        return HParams(step=0, wall_time=self.started, values=dict(self._config)) if self._config else None

    def kinds(self) -> list[str]:
        return [*super().kinds(), "hparams"] if self._config else super().kinds()

    # ---- the run as a whole

    @property
    def points(self) -> int:
        return sum(len(self.series(tag)) for tag in self.tags("scalar"))

    @property
    def size_bytes(self) -> int:
        return self._run.size_bytes

    @property
    def started(self) -> float:
        return self._run.started

    @property
    def ended(self) -> float:
        return self._run.ended

    @property
    def last_written(self) -> float:
        return self._run.last_written

    def restarts(self) -> list[Restart]:
        found = self._run.restarts()
        return found if self._last_step is None else [one for one in found if one.step <= self._last_step]

    def paths(self) -> list[str]:
        return [] if self._config is not None else self._run.paths()

    def notes(self) -> list[Note]:
        return self._run.notes()


def select(series: Series, indices: np.ndarray) -> Series:
    """Some points of a series."""
    return Series(
        series.tag, series.steps[indices], series.wall_times[indices], series.values[indices], series.orphaned[indices]
    )


def _renamed(info: TagInfo, tag: str) -> TagInfo:
    """The same tag by another name."""
    other = copy(info)
    other.tag = tag
    return other
