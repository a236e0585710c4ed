"""Readers of other log formats: how one declares itself in `readers/`, and which one takes a file."""

from __future__ import annotations

import fnmatch
import functools
import os
import pkgutil
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pulseboard.core.errors import PulseboardError
from pulseboard.core.note import Note
from pulseboard.core.series import Series

# A log may begin with the program's own source and its warnings; real ones have their first step within 60 kB.
OPENING_BYTES = 1 << 20


@dataclass(slots=True)
class History:
    """What a reader found of one run. Whatever is wrong with the file is in `notes`; nothing is raised for it."""

    series: dict[str, Series]  # by tag, in order of appearance
    name: str = ""  # where one file holds several runs: this one's, below the file's own
    config: dict[str, Any] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)


class Opening:
    """A file or directory as a reader sees it before it decides to take it."""

    def __init__(self, path: str, *, named: bool = False) -> None:
        """Raises OSError where there is nothing that can be opened."""
        self.path = path
        self.named = named
        """The user gave this very path: a reader may take what it would pass by among many files."""
        mode = os.stat(path).st_mode
        self.is_directory = stat.S_ISDIR(mode)
        self.is_file = stat.S_ISREG(mode)

    @functools.cached_property
    def data(self) -> bytes:
        """The file's first bytes; none of a directory or a device."""
        if not self.is_file:
            return b""
        with open(self.path, "rb") as stream:
            return stream.read(OPENING_BYTES)

    @functools.cached_property
    def lines(self) -> list[str]:
        """The first whole lines as text; none where the bytes are no text."""
        from pulseboard.read.text import decoded_lines

        return decoded_lines(self.data, cut=len(self.data) == OPENING_BYTES)


Read = Callable[[str], Iterator[History]]


@dataclass(frozen=True, slots=True)
class Reader:
    """A declared reader. `read` gives the runs in the file at a path."""

    id: str
    files: tuple[str, ...]
    sees: Callable[[Opening], bool]
    read: Read
    generic: bool
    names_directory: bool
    closed: bool
    snapshot_of: Callable[[str], str] | None
    file: str

    def fits(self, opening: Opening) -> bool:
        """Whether the file's name is one of this format's."""
        name = os.path.basename(opening.path).lower() + ("/" if opening.is_directory else "")
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.files)

    def place(self, path: str) -> str:
        """What gives the run its name: the file, its directory, or what its snapshots have in common."""
        if self.snapshot_of is not None:
            return self.snapshot_of(path)
        return os.path.dirname(path) if self.names_directory else path


_known: dict[str, Reader] = {}


def reader(
    *,
    id: str,
    files: tuple[str, ...],
    sees: Callable[[Opening], bool] = lambda opening: True,
    generic: bool = False,
    names_directory: bool = False,
    closed: bool = False,
    snapshot_of: Callable[[str], str] | None = None,
) -> Callable[[Read], Read]:
    """Declare a function from a path to histories as the reader `id`.

    files            patterns of file names, in lower case; one that ends in / is of directories
    sees             looks at the file's first bytes, and says whether it is of this format
    generic          asked only where no other reader has taken the file
    names_directory  the run goes by the name of the file's directory, not by that of the file
    closed           the file's directory is the run's own: nothing else in it or below is looked at
    snapshot_of      gives the run of which a file is one snapshot; that which reaches furthest counts
    """

    def declare(read: Read) -> Read:
        file = sys.modules[read.__module__].__file__ or "?"
        before = _known.get(id)
        if before is not None and before.file != file:
            raise PulseboardError(f"Two readers are called {id!r}. Rename one of them: {before.file} and {file}")
        _known[id] = Reader(id, files, sees, read, generic, names_directory, closed, snapshot_of, file)
        return read

    return declare


def all_readers() -> list[Reader]:
    """Ours and those that installed packages offer as `pulseboard.readers`, the generic ones last."""
    _load_all()
    return sorted(_known.values(), key=lambda reader: (reader.generic, reader.id))


@functools.cache
def _load_all() -> None:
    import importlib.metadata

    from pulseboard.read import readers

    for module in pkgutil.iter_modules(readers.__path__):
        if module.name != "event_file":  # the native format has a way of its own: read/log.py
            importlib.import_module(f"{readers.__name__}.{module.name}")
    for point in importlib.metadata.entry_points(group="pulseboard.readers"):
        point.load()


def reader_for(opening: Opening) -> Reader | None:
    """The reader that takes a file; None where it is no log of a known format.

    A file that the user named may have any name: then its content alone decides.
    """
    if not (opening.is_file or opening.is_directory):
        return None  # a pipe would never end
    known = all_readers()
    for one in known:
        if one.fits(opening) and one.sees(opening):
            return one
    if opening.named and opening.is_file:
        return next((one for one in known if one.sees(opening) and not _of_directories(one)), None)
    return None


def _of_directories(one: Reader) -> bool:
    return all(pattern.endswith("/") for pattern in one.files)
