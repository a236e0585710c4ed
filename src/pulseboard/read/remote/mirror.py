"""Mirror: the local copy of one remote directory's logs, updated by listing it and reading what is new."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from pulseboard.core.errors import RemoteError
from pulseboard.core.note import Note
from pulseboard.core.plural import plural
from pulseboard.read.remote.cache_limit import LIMIT_VARIABLE, make_room, max_cache_bytes, that_fit
from pulseboard.read.remote.fetch import Outcome, fetch
from pulseboard.read.remote.mirror_files import MirrorFiles, State, mirrors_directory
from pulseboard.read.remote.store import FileGone, FileRefused, Listing, RemoteFile, Store, Traffic
from pulseboard.read.remote.wanted import Wanted, wanted_files

_MAX_CONNECTIONS = 16
# A listing made only to check the connection is used for the first update if that follows soon.
_LISTING_FRESH_SECS = 30.0
# Errors of the local disk that the next file would meet too.
_CONCERN_ALL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO)

Progress = Callable[[int, int], None]


class Mirror:
    """One remote directory. Threads and processes may update it at the same time: they take turns."""

    def __init__(self, store: Store) -> None:
        self.url = str(store.url)
        self.notes: tuple[Note, ...] = ()  # what the last update left out
        self.found = False  # whether anything was there at the last listing
        self.listing_pages = 1  # the cost of the last listing
        self._store = store
        self._files = MirrorFiles(store.url)
        self._lock = threading.Lock()
        self._listed: tuple[float, Listing] | None = None  # made by `connect`, and when
        self._refused: dict[RemoteFile, Note] = {}  # not tried again until they change

    @property
    def path(self) -> str:
        """Where the copy is."""
        return self._files.top

    @property
    def traffic(self) -> Traffic:
        """What reading it has cost so far."""
        return self._store.traffic

    def connect(self) -> bool:
        """List the directory. Returns whether anything is there. Raises RemoteError if it cannot be listed."""
        with self._lock:
            listing = self._list()
            self._listed = (time.monotonic(), listing)
            return self.found

    def close(self) -> None:
        """End the connection. The copy stays."""
        self._store.close()
        self._files.close()

    def update(self, *, progress: Progress | None = None) -> bool:
        """Make the copy equal to what is there now. Returns whether it changed.

        Raises RemoteError. What was fetched until then is kept, and the next update continues there.
        """
        with self._lock:
            if not self._files.directory.exists():
                # A URL with an error leaves nothing in the cache.
                listing = self._list()
                if not self.found:
                    return False
                self._listed = (time.monotonic(), listing)
            return self._update(progress)

    def _update(self, progress: Progress | None) -> bool:
        with self._files.locked():
            listing = self._list()
            state = self._files.load()
            known = state.files
            sizes = self._files.sizes()
            notes = list(listing.notes)
            chosen = self._chosen(listing, state, notes)
            gone = [name for name in sizes if name not in chosen]
            for name in gone:
                self._files.remove(name)
            self._refused = {one.file: self._refused[one.file] for one in chosen.values() if one.file in self._refused}
            stale = [
                one
                for name, one in chosen.items()
                if one.file not in self._refused
                and (not one.file.is_same_as(known.get(name)) or sizes.get(name) != one.file.size)
            ]
            fetching = _Fetching(self._store, self._files, sizes)
            try:
                with ThreadPoolExecutor(_MAX_CONNECTIONS) as pool, fetching:
                    for done, (one, outcome) in enumerate(zip(stale, pool.map(fetching.fetch, stale), strict=True), 1):
                        if progress is not None:
                            progress(done, len(stale))
                        known.pop(one.file.name, None)
                        if outcome == "complete":
                            known[one.file.name] = one.file
                        elif outcome == "not a log":
                            state.not_logs[one.file.name] = one.file
            finally:
                if gone or stale:
                    state.files = {name: file for name, file in known.items() if name in chosen}
                    self._files.save(state)
                    self._files.remove_parts()
            self._refused |= fetching.refused
            self.notes = (*notes, *self._refused.values())
            if fetching.error is not None:
                raise fetching.error
            return bool(gone) or len(stale) > len(fetching.refused)

    def _list(self) -> Listing:
        listed, self._listed = self._listed, None
        if listed is not None and time.monotonic() - listed[0] < _LISTING_FRESH_SECS:
            return listed[1]
        listing = self._store.listing()
        self.found, self.listing_pages = bool(listing.files), listing.pages
        return listing

    def _chosen(self, listing: Listing, state: State, notes: list[Note]) -> dict[str, Wanted]:
        """The files to have, by name: those that are logs, have valid names and fit into the cache."""
        wanted = wanted_files(self._valid(listing.files, notes), top=self.path)
        wanted = [one for one in wanted if not state.is_not_log(one.file)]
        max_bytes = max_cache_bytes()
        needed = sum(one.file.size for one in wanted)
        available = make_room(needed, mirrors=mirrors_directory(), keep=self._files.directory, max_bytes=max_bytes)
        by_name = {one.file.name: one for one in wanted}
        fit, left_out = that_fit((one.file for one in wanted), available=available, max_bytes=max_bytes)
        if left_out:
            gigabytes = sum(file.size for file in left_out) / 1e9
            what = (
                f"Left out {plural(len(left_out), 'file')} of {gigabytes:.2g} GB, because the copy would exceed "
                f"its limit of {max_bytes / 1e9:g} GB ({LIMIT_VARIABLE})."
            )
            notes.append(Note("unreadable", what, self._url_of(left_out[0])))
        return {file.name: by_name[file.name] for file in fit}

    def _valid(self, files: Iterable[RemoteFile], notes: list[Note]) -> list[RemoteFile]:
        """The files whose names can be paths. A store of objects may have any name, and a name in another's place."""
        files = list(files)
        directories: set[str] = set()
        for file in files:
            name = file.name.rpartition("/")[0]
            while name and name not in directories:
                directories.add(name)
                name = name.rpartition("/")[0]
        valid: list[RemoteFile] = []
        for file in files:
            if self._files.path_of(file.name) is None:
                notes.append(Note("unreadable", "Left out an object: its name cannot be a path.", self._url_of(file)))
            elif file.name not in directories:
                valid.append(file)
            elif file.size:  # an empty one only marks the directory
                what = "Left out an object: there is also a directory of this name."
                notes.append(Note("unreadable", what, self._url_of(file)))
        return valid

    def _url_of(self, file: RemoteFile) -> str:
        return f"{self.url}/{file.name}" if file.name else self.url


class _Fetching:
    """Fetches files on several threads. After an error that concerns all of them, the rest is not tried.

    As a context manager it stops the threads in the middle of a file when its block ends early, as Ctrl-C makes it do.
    """

    def __init__(self, store: Store, files: MirrorFiles, sizes: dict[str, int]) -> None:
        self.error: RemoteError | OSError | None = None
        self.refused: dict[RemoteFile, Note] = {}
        self._store, self._files, self._sizes = store, files, sizes
        self._stopped = False

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._stopped = True

    def fetch(self, one: Wanted) -> Outcome:
        if self.error is not None or self._stopped:
            return "incomplete"
        try:
            return fetch(self._read, one, self._files, local_size=self._sizes.get(one.file.name))
        except FileGone:
            return "incomplete"
        except FileRefused as error:
            self._leave_out(one, str(error))
        except RemoteError as error:
            self.error = self.error or error
        except OSError as error:
            if error.errno in _CONCERN_ALL:
                self.error = self.error or error
            else:
                self._leave_out(one, str(error.strerror or error))
        return "incomplete"

    def _read(self, file: RemoteFile, *, start: int, end: int) -> Iterator[bytes | memoryview]:
        for piece in self._store.read(file, start=start, end=end):
            yield piece
            if self._stopped:
                raise FileGone

    def _leave_out(self, one: Wanted, why: str) -> None:
        where = f"{self._store.url}/{one.file.name}" if one.file.name else str(self._store.url)
        self.refused[one.file] = Note("unreadable", f"Left out a file: {why}.", where)
