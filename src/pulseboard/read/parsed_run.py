"""A run of any format other than event files: what a reader in `formats/` parsed, kept in memory."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pulseboard.core.axes import Step, Tag, WallTime
from pulseboard.core.config import flatten
from pulseboard.core.errors import TagNotFound
from pulseboard.core.locations import location_of
from pulseboard.core.note import Note
from pulseboard.core.series import Series
from pulseboard.read.axis.info import AxisInfo
from pulseboard.read.format import RunData
from pulseboard.read.run import Restart, Run
from pulseboard.read.stats import ScalarStats, stats_of
from pulseboard.read.tag_info import TagInfo
from pulseboard.tbformat import kinds

if TYPE_CHECKING:
    from pulseboard.core.values import HParams

_MAX_CONFIG_DEPTH = 8


class ParsedRun(Run):
    """A run as its file was when it was read. It has scalars and a configuration, and one rank."""

    ranks: dict[int, ParsedRun]
    last_written: WallTime = 0.0

    def __init__(self, name: str, *, path: str, named_path: str, format: str, data: RunData) -> None:
        self.name = name
        self.name_in_file = name
        """Empty unless the file holds several runs."""
        self.aliases = ()
        self.path = path
        """The file, or for MLflow the directory of metrics."""
        self.format = format
        self.directory = path if os.path.isdir(path) else os.path.dirname(path)
        self.training_directory = named_path if os.path.isdir(named_path) else os.path.dirname(named_path)
        """The directory of the whole training: for a log in a checkpoint, the one above the checkpoints."""
        self._named_path = named_path
        self.ranks = {0: self}
        self._series = data.series
        self._config = data.config
        self._notes = data.notes
        self._restarts = data.restarts
        self._axis = data.axis
        self._span = data.span or _span_of(data.series)
        self.last_written = _modified(path)
        self.last_active = self.last_written if math.isnan(ended := self.ended) else ended

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {self.format}, {len(self._series)} tags, {self.points} points)"

    # ---- tags and values

    def infos(self) -> dict[Tag, TagInfo]:
        """Every tag, in order of appearance."""
        return {tag: TagInfo(tag, points=len(series)) for tag, series in self._series.items()}

    def tags(self, kind: str | None = None) -> list[Tag]:
        """The tags of one kind, or all of them. All tags are scalars."""
        return list(self._series) if kind in (None, kinds.SCALAR) else []

    def kinds(self) -> list[str]:
        """['scalar'], or nothing."""
        return [kinds.SCALAR] if self._series else []

    def series(self, tag: Tag, *, rank: int = 0, orphans: bool = False) -> Series:
        """The points of a scalar tag, in the order they were logged. Raises TagNotFound.

        There is only rank 0. Wall times are NaN if the log has none.
        """
        if rank != 0:
            return self._rank(rank).series(tag)
        if tag not in self._series:
            raise TagNotFound(tag, run=self.name, kind=kinds.SCALAR, known=self._series)
        series = self._series[tag]
        return series if orphans or not series.orphaned.any() else _without_orphans(series)

    def stats(self) -> Iterator[ScalarStats]:
        """Each scalar tag in one line."""
        return (stats_of(self.series(tag)) for tag in self._series)

    def values(self, tag: Tag, *, kind: str, orphans: bool = False) -> list[Any]:
        """Raises TagNotFound: there are no values of other kinds."""
        raise TagNotFound(tag, run=self.name, kind=kind, known=())

    @property
    def axis(self) -> AxisInfo:
        """How its steps were found."""
        return super().axis if self._axis is None else self._axis

    @property
    def identity(self) -> tuple[str, str]:
        """Its file, or what it is named after, and which of several runs in the file it is."""
        return location_of(self._named_path), self.name_in_file

    # ---- configuration

    def config(self) -> dict[str, Any]:
        """The configuration in the log, as it was logged; empty if there is none."""
        return dict(self._config)

    def hparams(self) -> HParams | None:
        """The configuration as hyperparameters, nested ones named `object/name`; None if there is none."""
        if not self._config:
            return None
        from pulseboard.core.values import HParams

        return HParams(
            step=0,
            wall_time=self.started,
            records=frozenset({"session_start"}),
            values=_as_hparams(self._config),
        )

    # ---- the run as a whole

    @property
    def points(self) -> int:
        """The number of scalar points."""
        return sum(map(len, self._series.values()))

    @property
    def size_bytes(self) -> int:
        """Size on disk."""
        try:
            if not os.path.isdir(self.path):
                return os.path.getsize(self.path)
            files = (os.path.join(parent, name) for parent, _, names in os.walk(self.path) for name in names)
            return sum(map(os.path.getsize, files))
        except OSError:
            return 0

    @property
    def started(self) -> WallTime:
        """The first wall time; NaN if there is none."""
        return self._span[0]

    @property
    def ended(self) -> WallTime:
        """The last wall time; NaN if there is none."""
        return self._span[1]

    @property
    def last_step(self) -> Step | None:
        """The greatest step; None if there are no points."""
        arrays = {id(series.steps): series.steps for series in self._series.values()}  # most series share theirs
        return max((int(steps.max()) for steps in arrays.values() if len(steps)), default=None)

    def restarts(self) -> list[Restart]:
        """Where the training was resumed from an earlier step."""
        return list(self._restarts)

    def paths(self) -> list[str]:
        """The path of its file, or for MLflow of the directory of metrics."""
        return [self.path]

    def notes(self) -> list[Note]:
        """What is wrong with the file."""
        return list(self._notes)


def _span_of(all_series: dict[Tag, Series]) -> tuple[WallTime, WallTime]:
    """The first and the last wall time of any series; NaN if there is none."""
    import numpy as np

    found: list[float] = []
    for wall_times in {id(series.wall_times): series.wall_times for series in all_series.values()}.values():
        known = wall_times[np.isfinite(wall_times)]
        if len(known):
            found += (float(known.min()), float(known.max()))
    return min(found, default=math.nan), max(found, default=math.nan)


def _without_orphans(series: Series) -> Series:
    kept = ~series.orphaned
    return Series(series.tag, series.steps[kept], series.wall_times[kept], series.values[kept], series.orphaned[kept])


def _modified(path: str) -> WallTime:
    """When the file, or a file in the directory, was last written."""
    try:
        times = [os.stat(path).st_mtime]
        if os.path.isdir(path):
            times += [entry.stat().st_mtime for entry in os.scandir(path)]
        return max(times)
    except OSError:
        return 0.0


def _as_hparams(config: dict[str, Any]) -> dict[str, float | str | bool | None]:
    values = flatten(config, separator="/", max_depth=_MAX_CONFIG_DEPTH)
    return {name: _hparam(value) for name, value in values if value is not None}


def _hparam(value: Any) -> float | str | bool:
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        try:
            return float(value)
        except OverflowError:
            pass
    return str(value)
