"""Writes every point of the selected runs to a stream, in one of the formats in `formats/`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING

from pulseboard.core.axes import Tag
from pulseboard.export.format import NamedSeries, export_formats

if TYPE_CHECKING:
    from pulseboard.read.event_files.load import Progress
    from pulseboard.read.run import Run

Selection = Sequence[tuple["Run", list[Tag]]]
"""Runs, each with the scalar tags to export."""


def write(
    selection: Selection, stream: IO[bytes], *, format: str, orphans: bool = False, progress: Progress | None = None
) -> int:
    """Write all points of the selection, and return how many there were. `progress` counts series."""
    points = done = 0
    total = sum(len(tags) for _, tags in selection)

    def series() -> Iterator[NamedSeries]:
        nonlocal points, done
        for run, tags in selection:
            for tag in tags:
                one = run.series(tag, orphans=orphans)
                yield run.name, one
                points += len(one)
                done += 1
                if progress is not None:
                    progress(done, total)

    export_formats()[format].write(series(), stream)
    return points
