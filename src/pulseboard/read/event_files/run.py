"""A run of event files: the files of one directory, read as one timeline."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pulseboard.core.axes import Tag, WallTime
from pulseboard.core.errors import TagNotFound
from pulseboard.core.note import Note
from pulseboard.core.series import Series
from pulseboard.read.event_files import scalars
from pulseboard.read.event_files.event_file import EventFile
from pulseboard.read.event_files.timeline import Part, Spans, parts_of
from pulseboard.read.run import Restart, Run
from pulseboard.read.stats import ScalarStats, stats_of
from pulseboard.read.tag_info import TagInfo
from pulseboard.tbformat import kinds
from pulseboard.tbformat.event import EncodedValue

if TYPE_CHECKING:
    from pulseboard.core.values import HParams
    from pulseboard.read.event_files.stored_values import StoredValues

T = TypeVar("T")


class EventFileRun(Run):
    """A run of event files. Series are built on request, from the columns that the kernel keeps of each file."""

    format = "event-file"
    ranks: dict[int, EventFileRun]

    def __init__(
        self, name: str, *, aliases: tuple[str, ...], directory: str, whole: EventFileRun | None = None
    ) -> None:
        self.name = name
        self.aliases = aliases
        self.directory = self.path = directory
        self.files: list[EventFile] = []  # in the order they are read
        self.last_active = 0.0
        self.ranks = {0: self}
        self._whole = whole
        self._part: Note | None = None
        self._part_number = 1
        self._index: dict[Tag, TagInfo] = {}
        self._index_version: object = None
        self._undecodable: dict[tuple[str, int], Note] = {}
        self._hparams: tuple[object, HParams | None] = (None, None)  # the version they were read at, and they

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {len(self.tags())} tags, {self.points} points)"

    # ---- tags

    def info(self, tag: Tag) -> TagInfo | None:
        """One tag, without listing the others; None if the run does not have it."""
        if self._index_version == self._version():
            return self._index.get(tag)
        info = None
        for file in self.files:
            if entry := file.entry(tag):
                info = info or TagInfo(tag)
                info.add(entry)
        return info

    def infos(self) -> dict[Tag, TagInfo]:
        """Every tag, in order of appearance."""
        version = self._version()
        if version != self._index_version:
            index: dict[Tag, TagInfo] = {}
            for file in self.files:
                for tag, entry in file.tags().items():
                    index.setdefault(tag, TagInfo(tag)).add(entry)
            self._index, self._index_version = index, version
        return self._index

    def tags(self, kind: str | None = None) -> list[Tag]:
        """The tags of one kind ('scalar', 'histogram', 'text', …), or all of them."""
        if kind is not None and len(self.files) == 1:  # the usual case, without an entry for every tag
            names = self.files[0].log.scalar_tags(only=kind != kinds.SCALAR)
            if names is not None:
                return names if kind == kinds.SCALAR else []
        return super().tags(kind)

    def _require(self, tag: Tag, kind: str) -> TagInfo:
        info = self.info(tag)
        if info is None or kind not in info.kinds:
            raise TagNotFound(tag, run=self.name, kind=kind, known=self.tags(kind))
        return info

    # ---- scalars

    def series(self, tag: Tag, *, rank: int = 0, orphans: bool = False) -> Series:
        """The points of a scalar tag, in the order they were logged. Raises TagNotFound.

        `rank` selects what another rank of the training logged. With `orphans`, points that a restart
        replaced are included, and marked in `Series.orphaned`.
        """
        if rank != 0:
            return self._rank(rank).series(tag, orphans=orphans)
        if len(self.files) == 1 and (series := scalars.series_in(self.files[0], tag)) is not None:
            return series
        return self._consistent(lambda: self._series(tag, orphans=orphans))

    def _series(self, tag: Tag, *, orphans: bool) -> Series:
        info = self._require(tag, kinds.SCALAR)
        return scalars.series_of(info, self.files, orphans=orphans, leave_out=self._leave_out)

    def stats(self) -> Iterator[ScalarStats]:
        """Each scalar tag in one line, without orphaned points."""
        return iter(self._consistent(lambda: list(self._stats())))

    def _stats(self) -> Iterator[ScalarStats]:
        one_session = scalars.is_one_session(self.files)
        for tag in self.tags(kinds.SCALAR):
            # Not from `infos`, which keeps an object for every tag: thousands of runs are asked.
            entry = self.files[0].entry(tag) if one_session else None
            if entry is not None and not entry.spans:
                yield scalars.stats_from_kernel(self.files[0], entry)
            else:
                yield stats_of(self._series(tag, orphans=False))

    def _consistent(self, read: Callable[[], T]) -> T:
        """Call `read`, and repeat it if a file was reloaded meanwhile: reloading gives tags other indices."""
        while True:
            before, offsets_before = self._generations(), self._offsets()
            try:
                result = read()
            except (LookupError, ValueError):
                # Another thread may be reading a file again whose index was lost: then its tags are missing for now.
                for file in self.files:
                    if file.log.generation and not file.log.offset:
                        file.log.wait_until_loaded()
                # If bytes came in, `read` may have met a restart that it did not know of when it began.
                if (before, offsets_before) == (self._generations(), self._offsets()):
                    raise
                continue
            if before == self._generations():
                return result

    def _generations(self) -> list[tuple[EventFile, int]]:
        return [(file, file.log.generation) for file in self.files]

    def _offsets(self) -> list[int]:
        return [file.log.offset for file in self.files]

    # ---- values of other kinds

    def values(self, tag: Tag, *, kind: str, orphans: bool = False) -> list[Any]:
        """The tag's values of one kind, decoded, in the order they were logged. Raises TagNotFound.

        A value that cannot be decoded is left out, and a note says so.
        """
        return self._consistent(lambda: self._values(tag, kind=kind, orphans=orphans))

    def _values(self, tag: Tag, *, kind: str, orphans: bool) -> list[Any]:
        info = self._require(tag, kind)
        metadata = self.metadata(tag)
        wanted_fields = {number for number in info.fields if kinds.kind_of(number, info.plugin) == kind}
        out: list[Any] = []
        for part in parts_of(tag, self.files):
            spans = part.spans()
            wanted = [
                i
                for i, number in enumerate(spans.fields.tolist())
                if number in wanted_fields and (orphans or not spans.orphaned[i])
            ]
            found: list[Any] = [None] * len(wanted)
            if kind == kinds.HISTOGRAM:
                from pulseboard.read.event_files import histograms

                found = histograms.decoded(part, spans, wanted, metadata)
            if None in found:
                self._decode_missing(found, part, spans, tag, kind, metadata, wanted)
            out += [value for value in found if value is not None]
        return out

    def _decode_missing(
        self, found: list[Any], part: Part, spans: Spans, tag: Tag, kind: str, metadata: bytes, wanted: list[int]
    ) -> None:
        """Fill in the values that are None, except those that cannot be decoded."""
        from pulseboard.tbformat.summary import decode_value

        locations = spans.locations()
        missing = [k for k, value in enumerate(found) if value is None]
        for k, raw in zip(missing, part.file.read([locations[wanted[k]] for k in missing]), strict=True):
            i = wanted[k]
            step, wall_time, number = int(spans.steps[i]), float(spans.wall_times[i]), int(spans.fields[i])
            try:
                found[k] = decode_value(kind, raw, metadata, step=step, wall_time=wall_time, field=number)
            except ValueError as error:  # MalformedMessage, and nothing else
                self._leave_out(part.file, tag, locations[i][0], error)

    def metadata(self, tag: Tag) -> bytes:
        """What the files say about a tag, as bytes; values are decoded with it."""
        for file in self.files:
            entry = file.entry(tag)
            if entry is not None and entry.meta_length:
                return file.read([(entry.meta_offset, entry.meta_length)])[0]
        return b""

    def stored_values(self, tag: Tag) -> StoredValues:
        """The tag's values as they are in the files, except scalars. Raises TagNotFound."""
        from pulseboard.read.event_files.stored_values import StoredValues

        info = self.info(tag)
        if info is None:
            raise TagNotFound(tag, run=self.name, kind="stored", known=self.tags())
        left_out = {kinds.SCALAR, kinds.DECLARATION}
        fields = [number for number in info.fields if kinds.kind_of(number, info.plugin) not in left_out]
        return self._consistent(lambda: StoredValues(tag, self.files, fields=fields))

    def encoded_values(self, tag: Tag, *, orphans: bool = False) -> Iterator[EncodedValue]:
        """The tag's values other than scalars, as they are in the files. Raises TagNotFound."""
        values = self.stored_values(tag)
        steps, wall_times, fields = values.steps.tolist(), values.wall_times.tolist(), values.fields.tolist()
        for start, end in values.ranges(0, len(steps)):
            for i, data in enumerate(values.read(start, end), start):
                if orphans or not values.orphaned[i]:
                    yield EncodedValue(steps[i], wall_times[i], fields[i], data)

    def _leave_out(self, file: EventFile, tag: Tag, byte: int, error: Exception) -> None:
        what = f"Left out a value of tag {tag!r} that cannot be decoded: {error}."
        self._undecodable[file.path, byte] = Note("damage", what, file.path, byte)

    def hparams(self) -> HParams | None:
        """The run's hyperparameters, joined from its session records; None if it logged none. Read again if it grew."""
        version = self._version()
        if self._hparams[0] != version:
            records = [record for tag in self.tags("hparams") for record in self.values(tag, kind="hparams")]
            if records:
                from pulseboard.tbformat.codecs.hparams import hparams_from

                self._hparams = (version, hparams_from(records))
            else:
                self._hparams = (version, None)
        return self._hparams[1]

    def hparam_values(self) -> Mapping[str, float | str | bool | None]:
        """The same as of `hparams`, without the records that never hold values: tables ask thousands of runs."""
        if self._hparams[0] == self._version():
            return super().hparam_values()
        from pulseboard.tbformat.codecs.hparams import EXPERIMENT_TAG, SESSION_END_TAG

        tags = {row[0]: None for file in self.files for row in file.log.tags() if row[1] == kinds.HPARAMS}
        records = [
            record.values
            for tag in tags
            if tag not in (EXPERIMENT_TAG, SESSION_END_TAG)
            for record in self.values(tag, kind=kinds.HPARAMS)
        ]
        return {name: value for values in records for name, value in values.items()}

    def _version(self) -> list[tuple[EventFile, int, int]]:
        """Changes whenever the run does."""
        return [(file, file.log.generation, file.log.offset) for file in self.files]

    # ---- the run as a whole

    @property
    def whole(self) -> EventFileRun:
        """All event files of the directory as one run; the run itself unless several trainings were logged there."""
        return self if self._whole is None else self._whole

    @property
    def points(self) -> int:
        """The number of scalar points, orphaned ones included."""
        return sum(file.log.points for file in self.files)

    @property
    def size_bytes(self) -> int:
        """Size of its event files on disk, those of other ranks included."""
        own = sum(file.seen.size for file in self.files if file.seen)
        return own + sum(rank.size_bytes for rank in self._other_ranks())

    def _other_ranks(self) -> list[EventFileRun]:
        return [rank for rank in self.ranks.values() if rank is not self]

    def bytes_by_kind(self) -> dict[str, int]:
        """The bytes of its event files by kind of data; `other` is version records, session records and damage.

        For archived files these are the bytes before compression.
        """
        out: dict[str, int] = {}
        for info in self.infos().values():
            kind = info.kinds[0] if info.kinds else "other"
            out[kind] = out.get(kind, 0) + info.bytes
        # A file may have grown between its listing and its loading, hence the greater of the two sizes.
        total = sum(f.log.offset if f.archived or not f.seen else max(f.seen.size, f.log.offset) for f in self.files)
        if rest := total - sum(out.values()):
            out["other"] = out.get("other", 0) + rest
        for rank in self._other_ranks():
            for kind, n in rank.bytes_by_kind().items():
                out[kind] = out.get(kind, 0) + n
        return out

    @property
    def started(self) -> WallTime:
        """Wall time of the first event; NaN if no event was read."""
        return min((w for f in self.files if not math.isnan(w := f.log.first_wall)), default=math.nan)

    @property
    def ended(self) -> WallTime:
        """Wall time of the last event so far; NaN if no event was read."""
        return max((w for f in self.files if not math.isnan(w := f.log.last_wall)), default=math.nan)

    @property
    def last_written(self) -> WallTime:
        """When its files were last written, by the file system's clock: wall times in logs may be anything."""
        return max((file.seen.mtime_ns / 1e9 for file in self.all_files() if file.seen), default=0.0)

    def restarts(self) -> list[Restart]:
        """The session starts in the files."""
        return [Restart(step, wall) for file in self.files for step, wall, _ in file.log.restarts()]

    def paths(self) -> list[str]:
        """The paths of its event files, in the order they are read; those of other ranks are not included."""
        return [file.path for file in self.files]

    def notes(self) -> list[Note]:
        """What is wrong with its files, those of other ranks included."""
        own = [self._part] if self._part is not None else []
        own += [note for file in self.files for note in file.notes()] + list(self._undecodable.values())
        return own + [note for rank in self._other_ranks() for note in rank.notes()]

    # ---- keeping up

    def all_files(self) -> list[EventFile]:
        """Its files and those of other ranks."""
        return [file for rank in self.ranks.values() for file in rank.files]

    @property
    def identity(self) -> tuple[str, str]:
        """Its directory, and which of several trainings in it this is."""
        return self.location, f"part {self._part_number}" if self._part_number > 1 else ""

    def set_part(self, files: list[EventFile], *, number: int, count: int) -> None:
        """Become one of several trainings in a directory, with these of the files of `whole`."""
        self.files = files
        self.last_active = self._last_active()
        what = f"Training {number} of {count} that were logged to this directory. TensorBoard shows them as one run."
        self._part = Note("info", what, self.directory)
        self._part_number = number

    def update_after_load(self) -> None:
        """Bring the run up to date after files were added, removed or loaded.

        Files without a version record of their own are reloaded if the files before them changed: which of
        their points are orphaned depends on the state in which the file before them ended.
        """
        state = (0.0, -1)
        for file in self.files:
            log = file.log
            # Versions below 2 count as none: falling steps mark restarts then, and session starts do not.
            depends = log.unversioned or log.state[0] < 2 or log.started_from[0] >= 2
            if log.events and depends and log.started_from != state:
                log.reset(*state)
                file.load()
            if log.events:
                state = log.state
        self.last_active = self._last_active()

    def _last_active(self) -> WallTime:
        if not math.isnan(ended := self.ended):
            return ended
        return max((f.seen.mtime_ns / 1e9 for f in self.files if f.seen), default=0.0)
