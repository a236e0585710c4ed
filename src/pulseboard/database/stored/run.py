"""A run in a database, like one that was read from a log directory."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from pulseboard.core.axes import Step, Tag, WallTime
from pulseboard.core.errors import TagNotFound, ValuesNotHere
from pulseboard.core.note import Note
from pulseboard.core.plural import plural
from pulseboard.core.series import Series
from pulseboard.database.span import Span
from pulseboard.database.stored.points import BLOCK, PointCache
from pulseboard.database.stored.series_rows import Rows, SeriesRow, series_rows
from pulseboard.read.axis.info import AxisInfo
from pulseboard.read.format import RunData
from pulseboard.read.parsed_run import ParsedRun
from pulseboard.read.run import Restart, Run
from pulseboard.read.stats import ScalarStats, stats_of
from pulseboard.read.tag_info import TagInfo
from pulseboard.tbformat import kinds
from pulseboard.tbformat.codecs.hparams import hparams_from
from pulseboard.tbformat.event import EncodedValue
from pulseboard.tbformat.summary import decode_value

if TYPE_CHECKING:
    from pulseboard.core.values import HParams
    from pulseboard.database.connection import Connection
    from pulseboard.database.stored.log_files import LogFiles


class _Value(NamedTuple):
    seq: int
    step: int
    wall: float
    field: int
    data: bytes
    span: Span | None  # where the data is, if it stayed in the log


# All scalars of a run are read with one query up to this many points.
_MAX_POINTS_AT_ONCE = 2_000_000


class StoredRun(Run):
    """A run as it was when its description was read. Series are read on request."""

    ranks: dict[int, StoredRun]

    def __init__(
        self,
        info: Mapping[str, Any],
        *,
        name: str,
        id: int,
        rank: int,
        host: str,
        directory: str,
        points: PointCache,
        connection: Connection,
        log_files: LogFiles,
    ) -> None:
        self.id = id
        self._info, self._host = info, host
        self._connection, self._point_cache, self._log_files = connection, points, log_files
        self._left_out: dict[Tag, Note] = {}
        self.name = name
        self.aliases = tuple(info["aliases"]) if rank == 0 else ()
        self.format = info["format"]
        self.directory = self.path = directory
        self.last_active = info["last_active"]
        self.part = int(info["ranks"][str(rank)]["part"]) if str(rank) in info.get("ranks", {}) else None
        self._rows: Rows | None = None
        # Kept while someone holds them: the points of all runs do not fit into memory.
        self._series: WeakValueDictionary[Tag, Series] = WeakValueDictionary()
        self.ranks = {0: self}
        for number in (int(number) for number in info.get("ranks", {}) if int(number) != rank):
            of_rank = {**info["ranks"][str(number)], "ranks": {str(number): info["ranks"][str(number)]}}
            self.ranks[number] = StoredRun(
                of_rank,
                name=of_rank["name"],
                id=id,
                rank=number,
                host=host,
                directory=directory,
                points=points,
                connection=connection,
                log_files=log_files,
            )
            self.ranks[number].ranks = {0: self.ranks[number]}

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {self.points} points, in {self._connection.url})"

    # ---- tags

    @property
    def rows(self) -> Rows:
        """The series that it has, read from the database once."""
        if self._rows is None:
            self._rows = [] if self.part is None else series_rows(self._connection, [self.part])[self.part]
        return self._rows

    @rows.setter
    def rows(self, rows: Rows) -> None:
        self._rows = rows

    @property
    def has_rows(self) -> bool:
        """Whether its series are known without a query."""
        return self._rows is not None or self.part is None

    @cached_property
    def _by_name(self) -> dict[tuple[Tag, bool], SeriesRow]:
        return {(row.name, row.scalar): row for row in self.rows}

    @cached_property
    def _infos(self) -> dict[Tag, TagInfo]:
        infos: dict[Tag, TagInfo] = {}
        for row in self.rows:
            info = infos.setdefault(row.name, TagInfo(row.name))
            if row.scalar:
                info.points = row.points
            else:
                info.spans, info.plugin, info.fields = row.points, row.plugin, set(row.fields)
        return infos

    def infos(self) -> dict[Tag, TagInfo]:
        """Every tag, in order of appearance."""
        return self._infos

    def holds(self, tag: Tag) -> bool:
        """Whether the points of a scalar tag are in memory."""
        return tag in self._series

    def row(self, tag: Tag, *, scalar: bool = True) -> SeriesRow | None:
        """What is known of one series; None if the run does not have it."""
        return self._by_name.get((tag, scalar))

    # ---- scalars

    def series(self, tag: Tag, *, rank: int = 0, orphans: bool = False) -> Series:
        """The points of a scalar tag, in the order they were logged. Raises TagNotFound."""
        if rank != 0:
            return self._rank(rank).series(tag, orphans=orphans)
        row = self.row(tag)
        if row is None or self.part is None:
            raise TagNotFound(tag, run=self.name, kind=kinds.SCALAR, known=self.tags(kinds.SCALAR))
        whole = self._series.get(tag)
        if whole is None:
            whole = self._series[tag] = self._thinned(row, self.part) if row.pruned else self._whole(row, self.part)
        if orphans or not row.orphans:
            return whole
        kept = ~whole.orphaned
        return Series(tag, whole.steps[kept], whole.wall_times[kept], whole.values[kept], whole.orphaned[kept])

    def _whole(self, row: SeriesRow, part: int) -> Series:
        if not self._point_cache.has(part, row.tag):
            self._fetch_all()
        points = self._point_cache.get(part, row.tag, row.points)
        return Series(row.name, points.steps, points.walls, points.values, orphaned(row))

    def _thinned(self, row: SeriesRow, part: int) -> Series:
        """What is left after retention: the first and last finite value of each block, and the points after these."""
        blocks = self._point_cache.ends(part, row.tag, row.pruned)
        points = blocks.and_then(self._point_cache.range(part, row.tag, row.pruned, row.points))
        first = np.arange(0, row.pruned, BLOCK)
        seqs = np.concatenate([np.column_stack([first, first + BLOCK - 1]).ravel(), np.arange(row.pruned, row.points)])
        return Series(row.name, points.steps, points.walls, points.values, orphaned(row)[seqs])

    def _fetch_all(self) -> None:
        """Most readers of one series want the others next."""
        scalars = [row for row in self.rows if row.scalar and not row.pruned]
        if self.part is not None and sum(row.points for row in scalars) <= _MAX_POINTS_AT_ONCE:
            self._point_cache.fetch((self.part, row.tag, row.points) for row in scalars)

    def stats(self) -> Iterator[ScalarStats]:
        """Each scalar tag in one line, without orphaned points."""
        return (stats_of(self.series(tag)) for tag in self.tags(kinds.SCALAR))

    # ---- axes

    @property
    def axis(self) -> AxisInfo:
        """How the steps of the run were found."""
        return _axis(self._info["axis"])

    def axis_of(self, tag: Tag) -> AxisInfo:
        """How the steps of a scalar tag were found."""
        row = self.row(tag)
        return _axis(json.loads(row.axis)) if row is not None and row.axis else self.axis

    # ---- values of other kinds

    def values(self, tag: Tag, *, kind: str, orphans: bool = False) -> list[Any]:
        """The tag's values of one kind, decoded. Raises TagNotFound.

        Raises ValuesNotHere if they are in a log that cannot be read here. If only some are, they are left out, and a
        note says so.
        """
        row, info = self.row(tag, scalar=False), self.infos().get(tag)
        if row is None or info is None or kind not in info.kinds:
            raise TagNotFound(tag, run=self.name, kind=kind, known=self.tags(kind))
        lost = orphaned(row)
        fields = [number for number in row.fields if kinds.kind_of(number, row.plugin) == kind]
        out: list[Any] = []
        for value in self._with_data([one for one in self._stored(row, fields) if orphans or not lost[one.seq]], tag):
            step, wall, data = value.step, value.wall, value.data
            try:
                out.append(decode_value(kind, data, row.metadata, step=step, wall_time=wall, field=value.field))
            except ValueError:
                continue  # the pusher's log has a note about it
        return out

    def encoded_values(self, tag: Tag, *, orphans: bool = False) -> Iterator[EncodedValue]:
        """The tag's values other than scalars, as they are in event files. What is in a log only is left out."""
        if (row := self.row(tag, scalar=False)) is None:
            return
        lost = orphaned(row)
        values = [one for one in self._stored(row, list(row.fields)) if orphans or not lost[one.seq]]
        try:
            values = self._with_data(values, tag)
        except ValuesNotHere as error:
            here = [one for one in values if one.span is None]
            left_out = plural(len(values) - len(here), "value")
            what = f"Left out {left_out} of tag {tag!r}: the log has them, and {error.why}."
            self._left_out[tag] = Note("unreadable", what, self.location)
            values = here
        for one in values:
            yield EncodedValue(one.step, one.wall, one.field, one.data)

    def metadata(self, tag: Tag) -> bytes:
        """What event files say about a tag."""
        row = self.row(tag, scalar=False)
        return b"" if row is None else row.metadata

    def _stored(self, row: SeriesRow, fields: list[int]) -> Iterator[_Value]:
        sql = """SELECT seq, step, wall, field, data, file, offset, length, crc FROM {db}.stored_values
        WHERE part = {part:UInt64} AND tag = {tag:UInt64} AND seq < {count:UInt64} AND field IN {fields:Array(UInt32)}
        ORDER BY seq"""
        for seq, step, wall, field, data, file, *place in self._connection.rows(
            sql, binary=True, part=self.part, tag=row.tag, count=row.points, fields=fields
        ):
            span = Span(os.fsdecode(file), *place) if file else None
            yield _Value(int(seq), int(step), float(wall), int(field), data, span)

    def _with_data(self, values: list[_Value], tag: Tag) -> list[_Value]:
        """The values with the bytes of those that stayed in the log. What cannot be read there is left out."""
        spans = [one.span for one in values if one.span is not None]
        if not spans:
            return values
        found = self._log_files.read(spans, host=self._host)
        if missing := sum(span not in found for span in spans):
            of_all = f"{missing} of {plural(len(spans), 'value')}"
            what = f"Left out {of_all} of tag {tag!r}: they are in logs that are not here."
            self._left_out[tag] = Note("unreadable", what, self.location)
        return [
            one if one.span is None else one._replace(data=found[one.span])
            for one in values
            if one.span is None or one.span in found
        ]

    # ---- configuration

    def hparams(self) -> HParams | None:
        """The run's hyperparameters; None if it logged none."""
        return self._own_hparams() or next(
            (one for log in self._parsed_logs if (one := log.hparams()) is not None), None
        )

    def _own_hparams(self) -> HParams | None:
        """The hyperparameters in event files."""
        records = [record for tag in self.tags("hparams") for record in self.values(tag, kind="hparams")]
        return hparams_from(records) if records else None

    def config(self) -> dict[str, Any]:
        """The configurations of its logs; that of the main one has precedence."""
        merged: dict[str, Any] = {}
        for log in reversed(self._parsed_logs):
            merged |= log.config()
        own = self._own_hparams()
        return merged | ({} if own is None else own.values)

    @cached_property
    def _parsed_logs(self) -> list[ParsedRun]:
        """Its logs of other formats than event files, with their configurations and without series."""
        out = []
        for log in self._info.get("logs", ()):
            path = os.path.join(self.directory, os.path.basename(log["file"]))
            span = tuple(math.nan if time is None else float(time) for time in log["span"])
            data = RunData({}, config=log["config"], span=(span[0], span[1]))
            out.append(ParsedRun(log["name"], path=path, named_path=path, format=log["format"], data=data))
        return out

    def logs(self) -> list[Run]:
        """The logs that it was joined from. Those of other formats than event files have only a configuration."""
        event_files: list[Run] = [self] if self._info["event_files"] or not self._parsed_logs else []
        return [*event_files, *self._parsed_logs]

    # ---- the run as a whole

    @property
    def location(self) -> str:
        """Where its log was when it was pushed."""
        place = str(self._info["location"])
        return place if "://" in place else f"{self._host}:{place}"

    @property
    def identity(self) -> tuple[str, str]:
        """The location of its log as a URL, and which of several runs there it is: the same on every server."""
        place, which = self._info["identity"]
        return (place if "://" in place else f"file://{self._host}{place}"), which

    @property
    def points(self) -> int:
        """The number of scalar points, orphaned ones included."""
        return int(self._info["points"])

    @property
    def size_bytes(self) -> int:
        """Size of its files when they were pushed."""
        return int(self._info["size_bytes"])

    @property
    def started(self) -> WallTime:
        """The first wall time; NaN if there is none."""
        return _time(self._info["started"])

    @property
    def ended(self) -> WallTime:
        """The last wall time so far; NaN if there is none."""
        return _time(self._info["ended"])

    @property
    def last_step(self) -> Step | None:
        """The step of its last event with data; None if there is none."""
        return None if self._info["last_step"] is None else int(self._info["last_step"])

    @property
    def last_written(self) -> WallTime:
        """When its files were last written, by the clock of the host that pushed it."""
        return float(self._info["last_written"])

    def bytes_by_kind(self) -> dict[str, int]:
        """The bytes of its files by kind of data."""
        return dict(self._info["bytes_by_kind"])

    def restarts(self) -> list[Restart]:
        """The restarts that the log marks."""
        return [Restart(int(step), float(wall)) for step, wall in self._info["restarts"]]

    def paths(self) -> list[str]:
        """Where its log was."""
        return [self.location]

    def notes(self) -> list[Note]:
        """What was wrong with its files, and what could not be read in them since."""
        return [*(Note(*note) for note in self._info["notes"]), *self._left_out.values()]


def orphaned(row: SeriesRow) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which points of a series a restart orphaned."""
    out = np.zeros(row.points, np.bool_)
    for start, end in zip(row.orphans[::2], row.orphans[1::2], strict=True):
        out[start:end] = True
    return out


def _time(value: float | None) -> WallTime:
    return math.nan if value is None else float(value)


def _axis(fields: Mapping[str, Any]) -> AxisInfo:
    return AxisInfo(fields["kind"], tuple(fields["columns"]), fields["steps_per_epoch"], fields["note"])
