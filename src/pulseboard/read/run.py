"""A run: the event files of one directory read as one timeline."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from pulseboard.core.errors import RunNotFound, TagNotFound
from pulseboard.core.note import Note
from pulseboard.core.series import Series
from pulseboard.core.table import Table
from pulseboard.files import kinds
from pulseboard.read.readers.event_file import EventFile, TagEntry
from pulseboard.read.restarts import NEVER
from pulseboard.read.table import long_table
from pulseboard.read.timeline import Part, Points, parts_of

if TYPE_CHECKING:
    # The words of every kind of value take longer to load than a small log takes to read: not before they are needed.
    from numpy.typing import NDArray

    from pulseboard.core import values as words

T = TypeVar("T")


@dataclass(slots=True)
class TagInfo:
    """One tag of a run."""

    tag: str
    plugin: str | None = None  # the first that any file names: writers name it once
    points: int = 0  # orphaned ones included
    spans: int = 0
    bytes: int = 0
    whats: set[int] = field(default_factory=set)

    def add(self, entry: TagEntry) -> None:
        """Count in what one more file holds."""
        self.plugin = entry.plugin if self.plugin is None else self.plugin
        self.points += entry.points
        self.spans += entry.spans
        self.bytes += entry.bytes
        self.whats.update(kinds.whats_of(entry.whats))

    @property
    def kinds(self) -> list[str]:
        """What the tag holds; more than one only where two writers used the same tag."""
        found = [kinds.SCALAR] if self.points else []
        return list(dict.fromkeys(found + [kinds.kind_of(what, self.plugin) for what in sorted(self.whats)]))


@dataclass(frozen=True, slots=True)
class Restart:
    """A session start in the files: earlier points at or after `step` are orphaned."""

    step: int
    wall_time: float


@dataclass(frozen=True, slots=True)
class ScalarStats:
    """A scalar tag in one line. Minimum and maximum are over finite values, NaN where there are none."""

    tag: str
    count: int
    nan_count: int
    inf_count: int
    min: float
    max: float
    last: float
    first_step: int
    last_step: int
    max_step: int
    first_wall: float
    last_wall: float


class Run(Table):
    """One run of a log directory. Reads what is asked for from the columns that are loaded."""

    def __init__(self, name: str, *, aliases: tuple[str, ...], directory: str) -> None:
        self.name = name
        self.aliases = aliases
        self.directory = directory
        self.files: list[EventFile] = []  # in the order they are read
        self.last_active = 0.0  # seconds since 1970: see `settle`
        self.ranks: dict[int, Run] = {0: self}  # what other ranks of the job wrote, each as a run of its own
        self._index: dict[str, TagInfo] = {}
        self._index_at: object = None
        self._undecoded: dict[tuple[str, int], Note] = {}

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {len(self.tags())} tags, {self.points} points)"

    # ---- what is there

    def info(self, tag: str) -> TagInfo | None:
        """One tag; costs nothing for the others."""
        if self._index_at == [(file, file.log.generation, file.log.offset) for file in self.files]:
            return self._index.get(tag)
        info = None
        for file in self.files:
            if entry := file.entry(tag):
                info = info or TagInfo(tag)
                info.add(entry)
        return info

    def infos(self) -> dict[str, TagInfo]:
        """Every tag, in order of appearance."""
        at = [(file, file.log.generation, file.log.offset) for file in self.files]
        if at != self._index_at:
            index: dict[str, TagInfo] = {}
            for file in self.files:
                for tag, entry in file.tags().items():
                    index.setdefault(tag, TagInfo(tag)).add(entry)
            self._index, self._index_at = index, at
        return self._index

    def tags(self, kind: str | None = None) -> list[str]:
        """The tags of a kind ('scalar', 'histogram', 'text', …), or all."""
        return [tag for tag, info in self.infos().items() if kind is None or kind in info.kinds]

    def kinds(self) -> list[str]:
        """The kinds of data the run has; a plugin nobody has heard of goes by its own name."""
        return list(dict.fromkeys(kind for info in self.infos().values() for kind in info.kinds))

    def _info(self, tag: str, kind: str) -> TagInfo:
        info = self.info(tag)
        if info is None or kind not in info.kinds:
            raise TagNotFound(tag, run=self.name, kind=kind, known=self.tags(kind))
        return info

    # ---- scalars

    def series(self, tag: str, *, rank: int = 0, orphans: bool = False) -> Series:
        """The points of a scalar tag. With `orphans`, also those a restart took the place of, marked.

        `rank`: those that another rank of the job logged for itself; `ranks` has what there is.
        """
        if rank != 0:
            if rank not in self.ranks:
                raise RunNotFound(f"{self.name} (rank {rank})", known=[f"rank {n}" for n in self.ranks])
            return self.ranks[rank].series(tag, orphans=orphans)
        return self._undisturbed(lambda: self._series(tag, orphans=orphans))

    def _undisturbed(self, look: Callable[[], T]) -> T:
        """What `look` gives, looked at again where a file was read anew meanwhile: its tags have other indices now."""
        while True:
            before, read_before = self._generations(), self._bytes_read()
            try:
                found = look()
            except (LookupError, ValueError):
                # Where bytes came in, the look may have met a restart that it did not know of yet.
                if (before, read_before) == (self._generations(), self._bytes_read()):
                    raise
                continue
            if before == self._generations():
                return found

    def _generations(self) -> list[tuple[EventFile, int]]:
        return [(file, file.log.generation) for file in self.files]

    def _bytes_read(self) -> list[int]:
        return [file.log.offset for file in self.files]

    def _series(self, tag: str, *, orphans: bool) -> Series:
        info = self._info(tag, kinds.SCALAR)
        if self._is_one_session() and not info.spans:  # as most are, and a third faster
            file = self.files[0]
            entry = file.entry(tag)
            if entry is None:
                raise LookupError(tag)  # the file was read anew meanwhile: see `_undisturbed`
            points = Part(file, entry, [NEVER], NEVER).points()
            return Series(tag, points.steps, points.wall_times, points.values, points.orphaned)
        by_span = any(kinds.kind_of(what, info.plugin) == kinds.SCALAR for what in info.whats)
        found: list[Points] = []
        for part in parts_of(tag, self.files):
            found.append(part.points())
            if by_span and part.entry.spans:
                found.append(self._points_by_span(part, info))
        return _joined(tag, found, orphans=orphans)

    def _is_one_session(self) -> bool:
        """Whether one file holds it all and nothing in it is orphaned."""
        return len(self.files) == 1 and not self.files[0].log.unversioned and not self.files[0].log.restarts()

    def _points_by_span(self, part: Part, info: TagInfo) -> Points:
        """Scalars whose plugin only another file of the run names, so that the kernel kept them as spans."""
        import numpy as np

        from pulseboard.files.summary import decode_value

        spans = part.spans()
        numbers: list[float] = []
        taken: list[int] = []
        for i, raw in enumerate(part.file.read(spans.places())):
            what = int(spans.whats[i])
            if kinds.kind_of(what, info.plugin) != kinds.SCALAR:
                continue
            try:
                tensor = decode_value(kinds.TENSOR, raw, b"", step=0, wall_time=0.0, what=what)
                numbers.append(float(tensor.array.reshape(())))
                taken.append(i)
            except (ValueError, TypeError) as error:  # MalformedMessage is a ValueError
                self._leave_out(part.file, info.tag, int(spans.offsets[i]), error)
        return Points(spans.steps[taken], spans.wall_times[taken], np.array(numbers), spans.orphaned[taken])

    def stats(self) -> Iterator[ScalarStats]:
        """Each scalar tag in one line, orphaned points left out."""
        return iter(self._undisturbed(lambda: list(self._stats())))

    def _stats(self) -> Iterator[ScalarStats]:
        alone = self._is_one_session()
        for tag in self.tags(kinds.SCALAR):
            if alone and not self.infos()[tag].spans:
                yield _stats_from_kernel(self.files[0], tag)
            else:
                yield stats_of(self._series(tag, orphans=False))

    # ---- everything else

    def values(self, tag: str, *, kind: str, orphans: bool = False) -> list[Any]:
        """The tag's values of one kind, decoded, in the order they were logged.

        A value that cannot be decoded is left out and noted in `notes`.
        """
        return self._undisturbed(lambda: self._values(tag, kind=kind, orphans=orphans))

    def _values(self, tag: str, *, kind: str, orphans: bool) -> list[Any]:
        from pulseboard.files.summary import decode_value

        info = self._info(tag, kind)
        metadata = self._metadata(tag)
        out: list[Any] = []
        for part in parts_of(tag, self.files):
            spans = part.spans()
            places = spans.places()
            fitting = {what for what in info.whats if kinds.kind_of(what, info.plugin) == kind}
            picked = [
                i
                for i, what in enumerate(spans.whats.tolist())
                if what in fitting and (orphans or not spans.orphaned[i])
            ]
            for i, raw in zip(picked, part.file.read([places[i] for i in picked]), strict=True):
                try:
                    out.append(
                        decode_value(
                            kind,
                            raw,
                            metadata,
                            step=int(spans.steps[i]),
                            wall_time=float(spans.wall_times[i]),
                            what=int(spans.whats[i]),
                        )
                    )
                except ValueError as error:  # MalformedMessage, and nothing else
                    self._leave_out(part.file, tag, places[i][0], error)
        return out

    def histograms(self, tag: str) -> list[words.Histogram]:
        """The tag's histograms, legacy and tensor form alike."""
        return self.values(tag, kind="histogram")

    def images(self, tag: str) -> list[words.Image]:
        """The tag's images, still encoded."""
        return self.values(tag, kind="image")

    def audio(self, tag: str) -> list[words.Audio]:
        """The tag's audio clips, still encoded."""
        return self.values(tag, kind="audio")

    def texts(self, tag: str) -> list[words.Text]:
        """The tag's texts."""
        return self.values(tag, kind="text")

    def hparams(self) -> words.HParams | None:
        """The run's hyperparameters, joined from its session records; None where there are none."""
        records = [record for tag in self.tags("hparams") for record in self.values(tag, kind="hparams")]
        if not records:
            return None
        from pulseboard.files.hparams import hparams_from

        return hparams_from(records)

    def _metadata(self, tag: str) -> bytes:
        for file in self.files:
            entry = file.entry(tag)
            if entry is not None and entry.meta_length:
                return file.read([(entry.meta_offset, entry.meta_length)])[0]
        return b""

    def _leave_out(self, file: EventFile, tag: str, byte: int, error: Exception) -> None:
        what = f"Left out a value of tag {tag!r} that cannot be decoded: {error}."
        self._undecoded[file.path, byte] = Note("damage", what, file.path, byte)

    # ---- the run as a whole

    @property
    def points(self) -> int:
        """Scalar points in the files, orphaned ones included."""
        return sum(file.log.points for file in self.files)

    @property
    def size_bytes(self) -> int:
        """The event files' bytes on disk, those of other ranks included."""
        own = sum(file.seen.size for file in self.files if file.seen)
        return own + sum(rank.size_bytes for rank in self._other_ranks())

    def _other_ranks(self) -> list[Run]:
        return [rank for rank in self.ranks.values() if rank is not self]

    def bytes_by_kind(self) -> dict[str, int]:
        """The event files' bytes by kind of data; `other` is version records, session marks and damage.

        For archived files these are the bytes before compression.
        """
        out: dict[str, int] = {}
        for info in self.infos().values():
            kind = info.kinds[0] if info.kinds else "other"
            out[kind] = out.get(kind, 0) + info.bytes
        # A file may have grown between the look at it and its loading, hence the greater of the two.
        whole = sum(f.log.offset if f.archived or not f.seen else max(f.seen.size, f.log.offset) for f in self.files)
        if rest := whole - sum(out.values()):
            out["other"] = out.get("other", 0) + rest
        for rank in self._other_ranks():
            for kind, n in rank.bytes_by_kind().items():
                out[kind] = out.get(kind, 0) + n
        return out

    @property
    def started(self) -> float:
        """Wall time of the first event, seconds since 1970; NaN where no event was read."""
        return min((w for f in self.files if not math.isnan(w := f.log.first_wall)), default=math.nan)

    @property
    def ended(self) -> float:
        """Wall time of the last event so far; NaN where no event was read."""
        return max((w for f in self.files if not math.isnan(w := f.log.last_wall)), default=math.nan)

    def restarts(self) -> list[Restart]:
        """The session starts in the files."""
        return [Restart(step, wall) for file in self.files for step, wall, _ in file.log.restarts()]

    def notes(self) -> list[Note]:
        """What is wrong with the run's files, those of other ranks included."""
        own = [note for file in self.files for note in file.notes()] + list(self._undecoded.values())
        return own + [note for rank in self._other_ranks() for note in rank.notes()]

    def columns(self) -> dict[str, Any]:
        """One long table of all scalars: `tag`, `step`, `wall_time`, `value`."""
        return long_table((((tag,), self.series(tag)) for tag in self.tags(kinds.SCALAR)), labels=("tag",))

    def settle(self) -> None:
        """Take in that files came, went or grew: read some again, and tell when the run was last active.

        Read again are those whose restarts depend on the files before them: they have no version record
        of their own, and each was read as if it stood alone, or after other files than now.
        """
        state = (0.0, -1)
        for file in self.files:
            log = file.log
            # Versions below 2 are as good as none: falling steps count then, and session starts do not.
            depends = log.unversioned or log.state[0] < 2 or log.started_from[0] >= 2
            if log.events and depends and log.started_from != state:
                log.reset(*state)
                file.load()
            if log.events:
                state = log.state
        self.last_active = self._last_active()

    def _last_active(self) -> float:
        """When the run last moved: its last event, or where there is none, its files' last change."""
        if not math.isnan(ended := self.ended):
            return ended
        return max((f.seen.mtime_ns / 1e9 for f in self.files if f.seen), default=0.0)


def _joined(tag: str, parts: list[Points], *, orphans: bool) -> Series:
    import numpy as np

    def column(name: str) -> NDArray[Any]:
        arrays = [getattr(part, name) for part in parts]
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)

    steps, wall_times, values, orphaned = map(column, ("steps", "wall_times", "values", "orphaned"))
    if not orphans and orphaned.any():
        keep = ~orphaned
        steps, wall_times, values, orphaned = steps[keep], wall_times[keep], values[keep], orphaned[keep]
    return Series(tag, steps, wall_times, values, orphaned)


def _stats_from_kernel(file: EventFile, tag: str) -> ScalarStats:
    n, nan, inf, low, high, last, first_wall, last_wall, first_step, last_step, _, max_step = file.log.stats(
        file.tags()[tag].index
    )
    return ScalarStats(tag, n, nan, inf, low, high, last, first_step, last_step, max_step, first_wall, last_wall)


def stats_of(series: Series) -> ScalarStats:
    """A series in one line."""
    import numpy as np

    n = len(series)
    if not n:
        return ScalarStats(series.tag, 0, 0, 0, math.nan, math.nan, math.nan, 0, 0, 0, math.nan, math.nan)
    values, steps = series.values, series.steps
    finite = values[np.isfinite(values)]
    nan = int(np.isnan(values).sum())
    return ScalarStats(
        series.tag,
        n,
        nan,
        n - len(finite) - nan,
        float(finite.min()) if len(finite) else math.nan,
        float(finite.max()) if len(finite) else math.nan,
        float(values[-1]),
        int(steps[0]),
        int(steps[-1]),
        int(steps.max()),
        float(series.wall_times[0]),
        float(series.wall_times[-1]),
    )
