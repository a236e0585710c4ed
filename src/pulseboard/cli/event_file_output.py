"""Runs written as event files, one directory per run: what `import` and `export --format tensorboard` do."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pulseboard.core.errors import PulseboardError
from pulseboard.core.locations import location_of
from pulseboard.read.run import Run
from pulseboard.record.event_log.series_file import NO_WALL_TIME, write_series
from pulseboard.rundir import layout
from pulseboard.tbformat import kinds
from pulseboard.tbformat.event import value_event

Chosen = tuple[Run, list[str]]
"""A run, and the tags to write."""


class Occupied(PulseboardError):
    """The target directory already contains event files."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        super().__init__(
            "The target already contains event files, so points would be duplicated. "
            f"Choose another DEST or remove them first: {directory}"
        )


def write_runs(
    chosen: Sequence[Chosen],
    dest: str,
    *,
    orphans: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[dict[str, Any]]:
    """Write the values and hyperparameters of each run to a directory with its name below `dest`.

    Returns a record of each. Raises Occupied, before anything is written, if one of the directories has event files.
    """
    targets = [os.path.join(dest, *_parts(run.name)) for run, _ in chosen]
    for target in targets:
        _refuse_occupied(target)
    written = []
    for (run, tags), target in zip(chosen, targets, strict=True):
        written.append(_written(run, target, tags, orphans=orphans))
        if progress is not None:
            progress(len(written), len(chosen))
    return written


def _parts(name: str) -> list[str]:
    """A run's name as path parts. A database may contain any name, and none may lead out of DEST."""
    parts = [re.sub(r"[\x00-\x1f]", "_", part)[:200] for part in name.split("/")]
    return ["_" * len(part) if part == ".." else part for part in parts if part not in ("", ".")]


def _refuse_occupied(directory: str) -> None:
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return
    if any(map(layout.is_event_file, names)):
        raise Occupied(directory)


def _written(run: Run, target: str, tags: list[str], *, orphans: bool) -> dict[str, Any]:
    infos = run.infos()
    # The records of hyperparameters are among the values of other kinds.
    hparams = None if any(kinds.HPARAMS in infos[tag].kinds for tag in tags) else run.hparams()
    series = [run.series(tag, orphans=orphans) for tag in tags if kinds.SCALAR in infos[tag].kinds]
    others = _other_values(run, tags, orphans=orphans)
    path = write_series(target, series=series, config=hparams.values if hparams else None, others=others)
    return {
        "run": run.name,
        "format": run.format,
        "source": location_of(run.path),
        "output": path,
        "tags": len(tags),
        "points": sum(map(len, series)),
    }


def _other_values(run: Run, tags: list[str], *, orphans: bool) -> Iterator[bytes]:
    """Values of other kinds than scalars, as encoded Events."""
    for tag in tags:
        metadata = run.metadata(tag)
        for value in run.encoded_values(tag, orphans=orphans):
            known = value if math.isfinite(value.wall_time) else value._replace(wall_time=NO_WALL_TIME)
            yield value_event(known, metadata=metadata)
            metadata = b""  # readers keep the first
