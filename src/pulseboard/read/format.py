"""Formats: how a reader declares itself, and which reader takes a file.

A reader is one file in `formats/`: a function from a path to the runs in that file, declared with `@reader`.
To add a format, add a file there; nothing else has to change. An installed package can bring a reader too, as
an entry point in the group `pulseboard.readers`. Event files are the exception: `event_files/` reads them.

    @reader(id="my-log", files=("*.mylog",))
    def read_my_log(path: str) -> Iterator[RunData]:
        builder = SeriesBuilder()
        for line in lines_of(path):
            step, loss = line.text.split()
            builder.add("loss", step=int(step), value=float(loss))
        yield RunData(builder.series())
"""

from __future__ import annotations

import fnmatch
import functools
import os
import pkgutil
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from pulseboard.core.axes import Tag
from pulseboard.core.errors import PulseboardError
from pulseboard.core.note import Note
from pulseboard.core.series import Series
from pulseboard.read.axis.info import AxisInfo
from pulseboard.read.run import Restart
from pulseboard.rundir.regular_file import open_regular

# A log may begin with the program's source and warnings. In real ones the first step is within 60 kB.
HEAD_BYTES = 1 << 20


@dataclass(slots=True)
class RunData:
    """What a reader read of one run. A reader does not raise for damage in the file; it adds a note."""

    series: dict[Tag, Series]  # in order of appearance
    name: str = ""  # if one file holds several runs: the name of this one within the file
    config: dict[str, Any] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    axis: AxisInfo | None = None  # how the steps were found, if the reader had to find them
    restarts: list[Restart] = field(default_factory=list)
    span: tuple[float, float] | None = None  # the first and last wall time, if the reader knows them; NaN: none


class Candidate:
    """A file or directory that a reader may recognize as its format."""

    def __init__(self, path: str, *, given: bool = False) -> None:
        """Raises OSError if there is nothing at the path, or if it cannot be accessed."""
        self.path = path
        self.given = given
        """The user gave this very path: a reader may accept what it would ignore among the files of a directory."""
        mode = os.stat(path).st_mode
        self.is_directory = stat.S_ISDIR(mode)
        self.is_file = stat.S_ISREG(mode)

    @functools.cached_property
    def head(self) -> bytes:
        """The first bytes of the file; empty for a directory or device."""
        if not self.is_file:
            return b""
        with open_regular(self.path) as stream:
            return stream.read(HEAD_BYTES)

    @functools.cached_property
    def lines(self) -> list[str]:
        """The first complete lines as text; empty if the file is not text."""
        from pulseboard.read.parsing.text import decoded_lines

        return decoded_lines(self.head, truncated=len(self.head) == HEAD_BYTES)


ReadFile = Callable[[str], Iterator[RunData]]
"""Reads the file (or directory) at a path: every run in it."""


class Follower(Protocol):
    """Reads a log that grows at its end. Created for one file, it keeps what it has read and where it stopped."""

    def update(self, path: str) -> list[RunData]:
        """Read what is new since the last call (all of it if the file was replaced), and return all runs whole."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A declared reader. `reader` below explains the fields."""

    id: str
    files: tuple[str, ...]
    recognizes: Callable[[Candidate], bool]
    read: ReadFile
    fallback: bool
    named_after_directory: bool
    owns_directory: bool
    training_directory: Callable[[str], str] | None
    follow: Callable[[], Follower] | None
    source: str  # the Python file that declares it

    def matches_name(self, candidate: Candidate) -> bool:
        """Whether the candidate's name matches one of the patterns in `files`."""
        return self.matches(os.path.basename(candidate.path).lower() + ("/" if candidate.is_directory else ""))

    def matches(self, name: str) -> bool:
        """Whether a name in lower case, with a slash after that of a directory, matches one of the patterns."""
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.files)

    def reads_only_directories(self) -> bool:
        """Whether every pattern in `files` is for directories."""
        return all(pattern.endswith("/") for pattern in self.files)

    def named_path(self, path: str) -> str:
        """The path that names the run: the file, its directory, or the directory of the training."""
        if self.training_directory is not None:
            return self.training_directory(path)
        return os.path.dirname(path) if self.named_after_directory else path


_readers: dict[str, Reader] = {}


def reader(
    *,
    id: str,
    files: tuple[str, ...],
    recognizes: Callable[[Candidate], bool] = lambda candidate: True,
    fallback: bool = False,
    named_after_directory: bool = False,
    owns_directory: bool = False,
    training_directory: Callable[[str], str] | None = None,
    follow: Callable[[], Follower] | None = None,
) -> Callable[[ReadFile], ReadFile]:
    """Declare a function as the reader of one format.

    id                     the name of the format, shown to users and stored in `Run.format`
    files                  patterns of file names, in lower case; a pattern that ends in / is for directories
    recognizes             decides from the content whether a file with such a name has this format
    fallback               tried only after all readers that are not fallbacks: for formats that match a lot
    named_after_directory  the run is named after the directory of the file, not after the file
    owns_directory         the directory belongs to this run: nothing else in it or below it is read
    training_directory     for logs that are saved again with every checkpoint: maps the path of a file to the
                           directory of its training. Of one training, only the file with the last step is used
    follow                 a class that reads such a file as it grows (`Follower`). Without one, a file that has
                           grown is read again from its start
    """

    def declare(read: ReadFile) -> ReadFile:
        source = sys.modules[read.__module__].__file__ or "?"
        before = _readers.get(id)
        if before is not None and before.source != source:
            raise PulseboardError(f"Two readers have the id {id!r}. Rename one of them: {before.source} and {source}")
        _readers[id] = Reader(
            id,
            files,
            recognizes,
            read,
            fallback,
            named_after_directory,
            owns_directory,
            training_directory,
            follow,
            source,
        )
        return read

    return declare


def all_readers() -> list[Reader]:
    """The readers in `formats/` and those of installed packages, fallbacks last."""
    _load_all()
    return sorted(_readers.values(), key=lambda reader: (reader.fallback, reader.id))


@functools.cache
def _load_all() -> None:
    import importlib.metadata

    from pulseboard.read import formats

    for module in pkgutil.walk_packages(formats.__path__, f"{formats.__name__}."):
        importlib.import_module(module.name)
    for entry_point in importlib.metadata.entry_points(group="pulseboard.readers"):
        entry_point.load()


def reader_for(candidate: Candidate) -> Reader | None:
    """The reader for a file or directory; None if no reader recognizes it.

    If the user gave the path of the file, its name does not matter: the content decides.
    """
    if not (candidate.is_file or candidate.is_directory):
        return None  # reading a pipe might never end
    readers = all_readers()
    for one in readers:
        if one.matches_name(candidate) and one.recognizes(candidate):
            return one
    if candidate.given and candidate.is_file:
        return next((one for one in readers if not one.reads_only_directories() and one.recognizes(candidate)), None)
    return None
