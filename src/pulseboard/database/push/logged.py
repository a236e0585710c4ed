"""What one rank of a run has logged, as series that only grow: scalars, and other values as bytes."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pulseboard.database.ids import tag_id
from pulseboard.database.span import Span
from pulseboard.read.event_files.run import EventFileRun
from pulseboard.read.run import Run
from pulseboard.tbformat import kinds

if TYPE_CHECKING:
    from pulseboard.read.event_files.stored_values import StoredValues

_MEDIA = (kinds.IMAGE, kinds.AUDIO)
"""Kinds that stay in the log unless they are asked for: they are large, and not in a database's line."""

# A batch is limited in bytes. Those of a value that stays in the log are read for its checksum only.
_SPAN_FRAC = 1 / 16


@dataclass(frozen=True, slots=True, eq=False)
class Logged:
    """The series of one tag at one moment. Arrays of one length, in the order they were logged."""

    name: str
    tag: int
    position: int  # among the tags of the run
    scalar: bool
    steps: NDArray[np.int64]
    walls: NDArray[np.float64]
    values: NDArray[np.float64]  # of other values, the number of bytes
    orphaned: NDArray[np.bool_]
    axis: str = ""  # what its steps count, as JSON, if that is not what those of the run count
    plugin: str | None = None
    fields: tuple[int, ...] = ()
    metadata: bytes = b""
    value_fields: NDArray[np.uint32] | None = None
    costs: NDArray[np.float64] | None = None  # of other values, in bytes: what each adds to a batch
    read: Callable[[int, int], list[bytes | Span]] | None = None

    def __len__(self) -> int:
        return len(self.steps)

    def orphans(self) -> list[int]:
        """The ranges of points that a restart orphaned: start, end, start, end, …"""
        edges = np.flatnonzero(np.diff(self.orphaned, prepend=False, append=False))
        return [int(edge) for edge in edges]


def logged(run: Run, *, media: bool = False) -> Iterator[Logged]:
    """Every series of a run, which may be that of one rank. Without `media`, images and audio are spans of the log."""
    for position, (tag, info) in enumerate(run.infos().items()):
        if kinds.SCALAR in info.kinds:
            series = run.series(tag, orphans=True)
            axis = run.axis_of(tag)
            yield Logged(
                name=tag,
                tag=tag_id(tag, scalar=True),
                position=position,
                scalar=True,
                steps=series.steps,
                walls=series.wall_times,
                values=series.values,
                orphaned=series.orphaned,
                axis="" if axis == run.axis else json.dumps(axis.as_dict()),
            )
        if any(kind != kinds.SCALAR for kind in info.kinds):
            yield from _stored(run, tag, position=position, media=media)


def _stored(run: Run, tag: str, *, position: int, media: bool) -> Iterator[Logged]:
    log, original = run.source_of(tag)
    if not isinstance(log, EventFileRun):
        return
    values, info = log.stored_values(original), log.info(original)
    if not len(values.steps) or info is None:
        return
    stays = [number for number in info.fields if not media and kinds.kind_of(number, info.plugin) in _MEDIA]
    in_log = np.isin(values.fields, stays)
    yield Logged(
        name=tag,
        tag=tag_id(tag, scalar=False),
        position=position,
        scalar=False,
        steps=values.steps,
        walls=values.wall_times,
        values=values.lengths.astype(np.float64),
        orphaned=values.orphaned,
        plugin=info.plugin,
        fields=tuple(sorted(int(number) for number in np.unique(values.fields))),
        metadata=log.metadata(original),
        value_fields=values.fields,
        costs=np.where(in_log, values.lengths * _SPAN_FRAC, values.lengths),
        read=lambda start, end: _read(values, in_log, start, end),
    )


def _read(values: StoredValues, in_log: NDArray[np.bool_], start: int, end: int) -> list[bytes | Span]:
    """Values [start, end), with the spans of those that stay in the log."""
    out: list[bytes | Span] = []
    for first, last in values.ranges(start, end):
        for data, place, stays in zip(
            values.read(first, last), values.places(first, last), in_log[first:last].tolist(), strict=True
        ):
            out.append(Span(*place, zlib.crc32(data)) if stays else data)
    return out
