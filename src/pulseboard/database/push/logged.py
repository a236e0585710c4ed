"""What one rank of a run has logged, as series that only grow: scalars, and other values as bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pulseboard.database.ids import tag_id
from pulseboard.read.event_files.run import EventFileRun
from pulseboard.read.run import Run
from pulseboard.tbformat import kinds

MEDIA = (kinds.IMAGE, kinds.AUDIO)
"""Kinds that stay in the log directory unless they are asked for: they are large, and not in a database's line."""


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
    read: Callable[[int, int], list[bytes]] | None = None

    def __len__(self) -> int:
        return len(self.steps)

    def orphans(self) -> list[int]:
        """The ranges of points that a restart orphaned: start, end, start, end, …"""
        edges = np.flatnonzero(np.diff(self.orphaned, prepend=False, append=False))
        return [int(edge) for edge in edges]


def logged(run: Run, *, media: bool = False) -> Iterator[Logged]:
    """Every series of a run, which may be that of one rank."""
    without = () if media else MEDIA
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
        if other := _others(info.kinds, without):
            yield from _stored(run, tag, position=position, without=[*without], kinds_there=other)


def _others(of_tag: Collection[str], without: Collection[str]) -> list[str]:
    return [kind for kind in of_tag if kind != kinds.SCALAR and kind not in without]


def _stored(run: Run, tag: str, *, position: int, without: list[str], kinds_there: list[str]) -> Iterator[Logged]:
    log, original = run.source_of(tag)
    if not isinstance(log, EventFileRun):
        return
    values, info = log.stored_values(original, without=without), log.info(original)
    if not len(values.steps) or info is None:
        return
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
        read=values.read,
    )
