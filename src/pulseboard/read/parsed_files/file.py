"""One file (or directory) that may be a log of another format: who reads it, and what was read of it so far."""

from __future__ import annotations

from pulseboard.core.note import Note
from pulseboard.read.discovery.scan import FoundFile
from pulseboard.read.format import HEAD_BYTES, Candidate, Follower, Reader, RunData, reader_for
from pulseboard.read.parsed_run import ParsedRun
from pulseboard.read.parsing.text import is_binary

# Of a smaller file the reader is found again whenever it grows: its first lines may not be typical.
_MIN_RECOGNIZED_BYTES = 64 << 10
# Nothing but text has these names, while a .log or .txt may hold anything.
_TABLES = (".csv", ".tsv")


class ParsedFile:
    """A candidate. `recognize` finds its reader and `load` reads it; both do nothing if it has not changed."""

    def __init__(self, path: str, *, given: bool) -> None:
        self.path = path
        self.reader: Reader | None = None
        self.runs: tuple[ParsedRun, ...] = ()
        self.replaced: tuple[ParsedRun, ...] = ()  # the runs before the last change
        self.data: list[RunData] = []  # what the reader returned
        self.given = given
        self._notes: tuple[Note, ...] = ()
        self._recognized: tuple[FoundFile, ...] = ()  # as it was when it was recognized, and when it was loaded
        self._loaded: tuple[FoundFile, ...] = ()
        self._follower: Follower | None = None

    def notes(self) -> list[Note]:
        """What is wrong with it, apart from the notes of runs with points."""
        return [*self._notes, *(note for run in self.runs if not run.points for note in run.notes())]

    def recognize(self, found: tuple[FoundFile, ...]) -> None:
        """Find its reader. `found` is the file, or for a directory all files in it."""
        if found == self._recognized or _has_same_head(self._recognized, found, recognized=self.reader is not None):
            return
        self._notes = ()
        try:
            candidate = Candidate(self.path, given=self.given)
            reader = reader_for(candidate)
            if reader is None and self.path.lower().endswith(_TABLES) and is_binary(candidate.head):
                what = "The file has the name of a table and is not text: nothing was read of it."
                self._notes = (Note("unreadable", what, self.path),)
        except FileNotFoundError:
            reader = None
        except Exception as error:
            self._notes = (_unreadable(self.path, error),)
            reader = None
        if reader is not self.reader:
            self.reader, self._follower, self._loaded, self.runs, self.replaced = reader, None, (), (), ()
        self._recognized = found

    def load(self, found: tuple[FoundFile, ...]) -> bool:
        """Read what is new. Returns whether the runs have changed."""
        if found == self._loaded:
            return False
        reader, before = self.reader, self.runs
        self.replaced = before
        self._loaded = found
        if reader is None:
            self.runs, self.data = (), []
            return bool(before)
        if self._follower is None and reader.follow is not None:
            self._follower = reader.follow()
        try:
            self._set(list(reader.read(self.path) if self._follower is None else self._follower.update(self.path)))
        except FileNotFoundError:
            self.runs, self._loaded = (), ()
        except Exception as error:
            self.runs, self._notes, self._follower = (), (_unreadable(self.path, error),), None
            if isinstance(error, OSError):
                self._loaded = ()  # permissions and networks may be repaired without a change of the file
        return bool(before or self.runs or self._notes)

    def restore(self, reader: Reader, data: list[RunData], found: FoundFile) -> None:
        """Take what a reader returned for the file in an earlier process."""
        self.reader, self._recognized, self._loaded = reader, (found,), (found,)
        self._set(data)

    def _set(self, data: list[RunData]) -> None:
        assert self.reader is not None
        named_path = self.reader.named_path(self.path)
        self.data = data
        self.runs = tuple(
            ParsedRun(one.name, path=self.path, named_path=named_path, format=self.reader.id, data=one) for one in data
        )
        self._notes = ()

    @property
    def loaded(self) -> FoundFile | None:
        """The file as it was when it was read; None if it was not read, or is a directory."""
        return self._loaded[0] if len(self._loaded) == 1 and self._loaded[0].path == self.path else None

    def only_grew(self) -> bool:
        """Whether the last change left the runs as they were, apart from their points."""
        if self.reader is None or self.reader.training_directory is not None or not self.runs:
            return False
        before, now = self.replaced, self.runs
        same_names = [run.name_in_file for run in before] == [run.name_in_file for run in now]
        return same_names and all(run.points for run in (*before, *now))


def _has_same_head(before: tuple[FoundFile, ...], now: tuple[FoundFile, ...], *, recognized: bool) -> bool:
    """Whether a file has only grown since a reader was searched, behind the part that readers look at.

    A smaller file that was recognized keeps its reader until it has twice the size: the search takes longer than
    reading a few new lines.
    """
    if len(before) != 1 or len(now) != 1 or before[0].identity != now[0].identity:
        return False
    size_before, size = before[0].size, now[0].size
    if size_before >= HEAD_BYTES:
        return size >= size_before
    return recognized and _MIN_RECOGNIZED_BYTES <= size_before <= size < min(2 * size_before, HEAD_BYTES)


def _unreadable(path: str, error: Exception) -> Note:
    """A reader may come from another package: if it fails, one file is missing and not the whole dashboard."""
    why = error.strerror if isinstance(error, OSError) and error.strerror else f"its reader failed with {error!r}"
    return Note("unreadable", f"Cannot be read: {why}.", path)
