"""Runs of other log formats: found below a directory or in one file, with the calls that runs of event files have."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pulseboard.core.errors import LogNotFound, RunNotFound, TagNotFound
from pulseboard.core.note import Note
from pulseboard.core.series import Series
from pulseboard.core.table import Table
from pulseboard.files import json_log, kinds, layout
from pulseboard.read.reader import History, Opening, Reader, reader_for
from pulseboard.read.run import ScalarStats, TagInfo, stats_of
from pulseboard.read.table import long_table

if TYPE_CHECKING:
    from pulseboard.core.values import HParams

# Directories that hold other people's files, or so many that looking takes longer than reading.
_PASSED_BY = frozenset({"node_modules", "site-packages", "__pycache__"})
_HIDDEN_BUT_LOGS = frozenset({".wandb"})
# What a recorded run keeps about itself besides its log.
_NO_LOGS = frozenset(layout.SIDE_FILES) - {json_log.FILE_NAME}


class ForeignRun(Table):
    """A run that another program logged in a format of its own: scalars and a configuration.

    It is what the file held when it was opened. It has the calls of a run of event files; of histograms,
    texts and the like it has none, and restarts it does not know.
    """

    def __init__(self, name: str, *, path: str, place: str, format: str, history: History) -> None:
        self.name = name
        self.aliases: tuple[str, ...] = ()
        self.path = path
        """The file, or for MLflow the directory of metrics."""
        self.format = format
        """The id of the reader that read it."""
        self.directory = path if os.path.isdir(path) else os.path.dirname(path)
        self.place = place if os.path.isdir(place) else os.path.dirname(place)
        """The directory of the training as a whole: of a checkpoint's log, the one above the checkpoints."""
        self.files = [path]
        self.ranks: dict[int, ForeignRun] = {0: self}
        self._series = history.series
        self._config = history.config
        self._notes = history.notes

    def __repr__(self) -> str:
        return f"ForeignRun({self.name!r}, {self.format}, {len(self._series)} tags, {self.points} points)"

    # ---- scalars

    def tags(self, kind: str | None = None) -> list[str]:
        """The tags of a kind, or all; only scalars have any."""
        return list(self._series) if kind in (None, kinds.SCALAR) else []

    def kinds(self) -> list[str]:
        """['scalar'], or nothing."""
        return [kinds.SCALAR] if self._series else []

    def series(self, tag: str, *, rank: int = 0, orphans: bool = False) -> Series:
        """The points of a tag, in the order they were logged. Wall times are NaN where the log has none."""
        if rank != 0:
            raise RunNotFound(f"{self.name} (rank {rank})", known=["rank 0"])
        if tag not in self._series:
            raise TagNotFound(tag, run=self.name, kind=kinds.SCALAR, known=self._series)
        return self._series[tag]

    def infos(self) -> dict[str, TagInfo]:
        """Every tag, in order of appearance."""
        return {tag: TagInfo(tag, points=len(series)) for tag, series in self._series.items()}

    def stats(self) -> Iterator[ScalarStats]:
        """Each scalar tag in one line."""
        return map(stats_of, self._series.values())

    def columns(self) -> dict[str, Any]:
        """One long table of all scalars: `tag`, `step`, `wall_time`, `value`."""
        return long_table((((tag,), series) for tag, series in self._series.items()), labels=("tag",))

    # ---- configuration

    def config(self) -> dict[str, Any]:
        """The configuration that the log holds, as it holds it; empty where it has none."""
        return dict(self._config)

    def hparams(self) -> HParams | None:
        """The configuration as hyperparameters, objects within it as `object/name`; None where there is none."""
        if not self._config:
            return None
        from pulseboard.core.values import HParams

        return HParams(
            step=0,
            wall_time=self.started,
            records=frozenset({"session_start"}),
            values=dict(_flat(self._config)),
        )

    # ---- what other formats do not have

    def values(self, tag: str, *, kind: str, orphans: bool = False) -> list[Any]:
        """Values of other kinds: there are none."""
        raise TagNotFound(tag, run=self.name, kind=kind, known=())

    def histograms(self, tag: str) -> list[Any]:
        """None."""
        return []

    def images(self, tag: str) -> list[Any]:
        """None."""
        return []

    def audio(self, tag: str) -> list[Any]:
        """None."""
        return []

    def texts(self, tag: str) -> list[Any]:
        """None."""
        return []

    def restarts(self) -> list[Any]:
        """None: other formats do not mark them."""
        return []

    # ---- the run as a whole

    @property
    def points(self) -> int:
        """Scalar points in the file."""
        return sum(map(len, self._series.values()))

    @property
    def size_bytes(self) -> int:
        """Bytes on disk."""
        try:
            if not os.path.isdir(self.path):
                return os.path.getsize(self.path)
            return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(self.path) for name in names)
        except OSError:
            return 0

    @property
    def started(self) -> float:
        """The first wall time; NaN where the log has none."""
        return min(self._walls(), default=math.nan)

    @property
    def ended(self) -> float:
        """The last wall time; NaN where the log has none."""
        return max(self._walls(), default=math.nan)

    def _walls(self) -> Iterator[float]:
        import numpy as np

        for series in self._series.values():
            known = series.wall_times[np.isfinite(series.wall_times)]
            if len(known):
                yield from (float(known.min()), float(known.max()))

    @property
    def last_active(self) -> float:
        """When the run last moved: its last wall time, or where there is none, its file's last change."""
        if not math.isnan(ended := self.ended):
            return ended
        try:
            return os.stat(self.path).st_mtime
        except OSError:
            return 0.0

    @property
    def last_step(self) -> int:
        """The greatest step; -1 where there are no points."""
        return max((int(series.steps.max()) for series in self._series.values() if len(series)), default=-1)

    def notes(self) -> list[Note]:
        """What is wrong with the file."""
        return list(self._notes)


def _flat(config: dict[str, Any], *, above: str = "", depth: int = 0) -> Iterator[tuple[str, float | str | bool]]:
    for name, value in config.items():
        if isinstance(value, dict) and value and depth < 8:
            yield from _flat(value, above=f"{above}{name}/", depth=depth + 1)
        elif isinstance(value, bool | str):
            yield f"{above}{name}", value
        elif isinstance(value, int | float):
            try:
                yield f"{above}{name}", float(value)
            except OverflowError:
                yield f"{above}{name}", str(value)
        elif value is not None:
            yield f"{above}{name}", str(value)


# ---------- finding


@dataclass(frozen=True, slots=True)
class _Taken:
    reader: Reader
    path: str


def foreign_runs(path: str | os.PathLike[str], *, notes: list[Note] | None = None) -> dict[str, ForeignRun]:
    """The runs of other formats below a directory, or in one file: run name -> run.

    A file may have any name; below a directory only files whose names and first bytes a reader knows are
    read, and those without a single point are passed by. `notes` takes what is wrong with files that gave no run.
    """
    path = os.path.abspath(os.fspath(path))
    notes = [] if notes is None else notes
    if not os.path.exists(path):
        raise LogNotFound(path)
    if not os.path.isdir(path):
        taken = _taken(path, named=True, notes=notes)
        base = _text(os.path.basename(path))
        return _named(
            (f"{base}/{run.name}" if run.name else base, run) for run in _read(taken, notes=notes)
        )  # fmt: skip
    named = _taken(path, named=True, notes=notes)
    places = [named] if named else list(_below(path, notes=notes))
    return _named(_runs_at(path, places, notes=notes))


def _runs_at(root: str, places: list[_Taken], *, notes: list[Note]) -> Iterator[tuple[str, ForeignRun]]:
    """Each run with its name: the path of its place below the root."""
    furthest: dict[str, ForeignRun] = {}
    at: dict[str, list[ForeignRun]] = {}
    for taken in places:
        place = taken.reader.place(taken.path)
        for run in _read(taken, notes=notes):
            if not run.points and taken.path != root:
                notes.extend(run.notes())
            elif taken.reader.snapshot_of is not None:
                before = furthest.get(place)
                if before is None or run.last_step > before.last_step:
                    furthest[place] = run
            else:
                at.setdefault(place, []).append(run)
    for place, run in furthest.items():
        at.setdefault(place, []).append(run)
    for place, runs in at.items():
        # A place above the root, as of a directory of metrics that was given itself, is the root.
        inside = place == root or place.startswith(os.path.join(root, ""))
        name = _text(os.path.relpath(place, root)).replace(os.sep, "/") if inside else "."
        files = {run.path for run in runs}
        for run in runs:
            parts = [name]
            if len(files) > 1:
                parts.append(_text(os.path.basename(run.path)))
            if run.name:
                parts.append(run.name)
            yield "/".join(part for part in parts if part != ".") or ".", run


def _named(found: Iterator[tuple[str, ForeignRun]]) -> dict[str, ForeignRun]:
    runs: dict[str, ForeignRun] = {}
    for name, run in found:
        run.name = _free(name, runs)
        runs[run.name] = run
    return runs


def _free(name: str, taken: dict[str, ForeignRun]) -> str:
    free, count = name, 2
    while free in taken:
        free, count = f"{name} ({count})", count + 1
    return free


def _below(top: str, *, notes: list[Note]) -> Iterator[_Taken]:
    def closed(error: OSError) -> None:
        notes.append(Note("unreadable", f"Left out a directory: {error.strerror}.", str(error.filename)))

    for above, folders, names in os.walk(top, onerror=closed):
        folders[:] = sorted(name for name in folders if _is_looked_into(name))
        names = sorted(name for name in names if name not in _NO_LOGS and not layout.is_event_file(name))
        found = [taken for name in names if (taken := _taken(os.path.join(above, name), notes=notes))]
        if whole := [taken for taken in found if taken.reader.closed]:
            yield from whole
            folders.clear()
            continue
        yield from found
        for name in list(folders):
            if taken := _taken(os.path.join(above, name), notes=notes):
                yield taken
                folders.remove(name)


def _is_looked_into(name: str) -> bool:
    return name not in _PASSED_BY and (not name.startswith(".") or name in _HIDDEN_BUT_LOGS)


def _taken(path: str, *, named: bool = False, notes: list[Note]) -> _Taken | None:
    try:
        opening = Opening(path, named=named)
        found = reader_for(opening)
    except FileNotFoundError:
        return None
    except OSError as error:
        notes.append(Note("unreadable", f"Cannot be read: {error.strerror}.", path))
        return None
    return _Taken(found, path) if found else None


def _read(taken: _Taken | None, *, notes: list[Note]) -> Iterator[ForeignRun]:
    if taken is None:
        return
    try:
        for history in taken.reader.read(taken.path):
            place = taken.reader.place(taken.path)
            yield ForeignRun(history.name, path=taken.path, place=place, format=taken.reader.id, history=history)
    except OSError as error:
        notes.append(Note("unreadable", f"Cannot be read: {error.strerror}.", taken.path))


def _text(path: str) -> str:
    """A name is shown, exported and put into URLs, so it is text whatever bytes the path has."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
