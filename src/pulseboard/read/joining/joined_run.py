"""A run that was logged several times: the union of its logs, each value once."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pulseboard.core.axes import Tag, WallTime
from pulseboard.core.errors import TagNotFound
from pulseboard.core.note import Note
from pulseboard.core.series import Series
from pulseboard.read.axis.info import AxisInfo
from pulseboard.read.joining.agreement import Agreement
from pulseboard.read.parsed_run import ParsedRun
from pulseboard.read.run import Restart, Run
from pulseboard.read.stats import ScalarStats, stats_of
from pulseboard.read.tag_info import TagInfo
from pulseboard.tbformat import kinds

if TYPE_CHECKING:
    from pulseboard.core.values import HParams
    from pulseboard.tbformat.event import EncodedValue


class JoinedRun(Run):
    """Several logs of one training. The first, `main`, gives the run its name and has precedence.

    The others add the tags that it lacks. Where values of the same tag disagree, both are kept: the other one as
    `tag (file name)`.
    """

    def __init__(self, main: Run, others: Iterable[tuple[ParsedRun, Agreement]]) -> None:
        self._main = main
        self.others = tuple(others)
        self.name, self.format, self.path, self.directory = main.name, main.format, main.path, main.directory
        names = dict.fromkeys((*main.aliases, *(run.name for run, _ in self.others)))
        self.aliases = tuple(name for name in names if name != self.name)
        self.ranks = {**main.ranks, 0: self}
        self._added: dict[Tag, tuple[ParsedRun, Tag]] = {}
        self._disagreements: list[Note] = []
        for run, agreement in self.others:
            self._add(run, agreement)

    def _add(self, run: ParsedRun, agreement: Agreement) -> None:
        file = os.path.basename(run.path)
        for tag in run.tags():
            if tag in agreement.longer:
                self._added[agreement.longer[tag]] = (run, tag)
            elif tag in agreement.differing:
                self._added[f"{agreement.differing[tag]} ({file})"] = (run, tag)
            elif tag not in agreement.same:
                clean = tag.strip() or tag
                self._added.setdefault(clean, (run, tag))
        if agreement.differing and not agreement.is_parallel:
            what = ", ".join(repr(tag) for tag in list(agreement.differing.values())[:3])
            more = f" and {len(agreement.differing) - 3} more" if len(agreement.differing) > 3 else ""
            self._disagreements.append(
                Note("info", f"Two logs of this run have different values of {what}{more}: both are kept.", run.path)
            )

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {1 + len(self.others)} logs, {len(self.tags())} tags, {self.points} points)"

    def source_of(self, tag: Tag) -> tuple[Run, Tag]:
        """The log that a tag's values come from, and the tag's name there."""
        return self._added.get(tag, (self._main, tag))

    # ---- tags and values

    def infos(self) -> dict[Tag, TagInfo]:
        """Every tag: those of the main log first."""
        infos = dict(self._main.infos())
        for tag, (run, original) in self._added.items():
            infos[tag] = TagInfo(tag, points=len(run.series(original, orphans=True)))
        return infos

    def series(self, tag: Tag, *, rank: int = 0, orphans: bool = False) -> Series:
        """The points of a scalar tag, in the order they were logged. Raises TagNotFound."""
        if rank != 0:
            return self._rank(rank).series(tag, orphans=orphans)
        run, original = self.source_of(tag)
        try:
            series = run.series(original, orphans=orphans)
        except TagNotFound:
            raise TagNotFound(tag, run=self.name, kind=kinds.SCALAR, known=self.tags(kinds.SCALAR)) from None
        if series.tag == tag:
            return series
        return Series(tag, series.steps, series.wall_times, series.values, series.orphaned)

    def stats(self) -> Iterator[ScalarStats]:
        """Each scalar tag in one line, without orphaned points."""
        yield from (stats for stats in self._main.stats() if stats.tag not in self._added)
        yield from (stats_of(self.series(tag)) for tag in self._added)

    def values(self, tag: Tag, *, kind: str, orphans: bool = False) -> list[Any]:
        """The tag's values of one kind. Raises TagNotFound."""
        return self._main.values(tag, kind=kind, orphans=orphans)

    def encoded_values(self, tag: Tag, *, orphans: bool = False) -> Iterator[EncodedValue]:
        """The tag's values other than scalars, as they are in event files."""
        return iter(()) if tag in self._added else self._main.encoded_values(tag, orphans=orphans)

    def metadata(self, tag: Tag) -> bytes:
        """What event files say about a tag."""
        return self._main.metadata(tag)

    @property
    def axis(self) -> AxisInfo:
        """The axis of the main log. `axis_of` has that of a tag."""
        return self._main.axis

    # ---- configuration

    def hparams(self) -> HParams | None:
        """The hyperparameters of the first log that has any."""
        return next((found for run in self.logs() if (found := run.hparams()) is not None), None)

    def config(self) -> dict[str, Any]:
        """The configurations of all logs; the main one has precedence."""
        merged: dict[str, Any] = {}
        for run in reversed(self.logs()):
            merged |= run.config()
        return merged

    # ---- the run as a whole

    @property
    def main(self) -> Run:
        """The log that has precedence."""
        return self._main

    @property
    def identity(self) -> tuple[str, str]:
        """That of the main log."""
        return self._main.identity

    def logs(self) -> list[Run]:
        """Its logs, the main one first."""
        return [self._main, *(run for run, _ in self.others)]

    @property
    def last_active(self) -> WallTime:  # type: ignore[override]
        """When one of its logs last got something."""
        return max(run.last_active for run in self.logs())

    @property
    def points(self) -> int:
        """The number of scalar points, orphaned ones included."""
        if not self._added:
            return self._main.points
        return sum(info.points for info in self.infos().values())

    @property
    def size_bytes(self) -> int:
        """Size of all its files on disk."""
        return self._main.size_bytes + sum({run.path: run.size_bytes for run, _ in self.others}.values())

    def bytes_by_kind(self) -> dict[str, int]:
        """The bytes of its files by kind of data."""
        out = dict(self._main.bytes_by_kind())
        extra = self.size_bytes - self._main.size_bytes
        return {**out, kinds.SCALAR: out.get(kinds.SCALAR, 0) + extra} if extra else out

    @property
    def started(self) -> WallTime:
        """The first wall time of any log; NaN if there is none."""
        return min((run.started for run in self.logs() if not math.isnan(run.started)), default=math.nan)

    @property
    def ended(self) -> WallTime:
        """The last wall time of any log; NaN if there is none."""
        return max((run.ended for run in self.logs() if not math.isnan(run.ended)), default=math.nan)

    @property
    def last_written(self) -> WallTime:
        """When one of its files was last written."""
        return max(run.last_written for run in self.logs())

    def restarts(self) -> list[Restart]:
        """The restarts that the main log marks."""
        return self._main.restarts()

    def paths(self) -> list[str]:
        """The paths of all its files."""
        return list(dict.fromkeys(path for run in self.logs() for path in run.paths()))

    def notes(self) -> list[Note]:
        """What is wrong with its files, and which of their values disagree."""
        return [note for run in self.logs() for note in run.notes()] + self._disagreements
