"""The board: the runs of one server, kept up to date by a thread, with everything the routes ask."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pulseboard.core.errors import RunNotFound
from pulseboard.serve.decoded import Decoded
from pulseboard.serve.diagnosis import Diagnosis
from pulseboard.serve.journal import Journal, Loading
from pulseboard.serve.marks import MarksFile, key_of

if TYPE_CHECKING:
    from pulseboard.read.discover import Root
    from pulseboard.read.run import Run
    from pulseboard.store.query import Changes

_log = logging.getLogger("pulseboard.serve")

# After a failure of the disk, such as a file server that is away: try again so much later.
_RETRY_SECS = 5.0


class Board:
    """Runs, marks and findings of the given log directories. `start` returns at once; reading goes on behind it."""

    def __init__(
        self,
        roots: Sequence[Root],
        *,
        title: str = "Pulseboard",
        every_secs: float = 5.0,
        marks: MarksFile | None = None,
    ) -> None:
        from pulseboard.read.log import Log
        from pulseboard.store.index import Index
        from pulseboard.store.store import Store

        self.title = title
        self.version: str = sys.modules["pulseboard"].__version__
        self._index = Index()
        self.log = Log(roots, cache=self._index)
        self.store = Store(self.log)
        self.journal = Journal()
        self.marks = marks or MarksFile()
        self.diagnosis = Diagnosis(self.log, self.journal)
        self._decoded = Decoded()
        self.loading: Loading | None = Loading(0, 0)
        self.closed = False
        self._every_secs = every_secs
        self._stop = threading.Event()
        self._loaded = threading.Event()
        self._thread: threading.Thread | None = None

    # ---- the thread

    def start(self, *, on_loaded: Callable[[Board], None] | None = None) -> None:
        """Read what is there, then follow it."""
        self._thread = threading.Thread(target=self._work, args=(on_loaded,), name="pulseboard-board", daemon=True)
        self._thread.start()

    def _work(self, on_loaded: Callable[[Board], None] | None) -> None:
        while not self._stop.is_set():
            try:
                if not self._loaded.is_set():
                    self._take_up(self.store.refresh(progress=self._progress))
                    self.loading = None
                    self._loaded.set()
                    self.journal.wake()
                    if on_loaded is not None:
                        on_loaded(self)
                if self._every_secs <= 0:  # TensorBoard's way to say "only once"
                    return
                # Its thread ends when `stop` is set, or by a failure of the disk.
                self.store.follow(every_secs=self._every_secs, stop=self._stop, on_change=self._take_up).join()
            except Exception:
                # The charts of what was read go on working.
                _log.exception("Reading the log directories failed; trying again in %.0f s.", _RETRY_SECS)
            self._stop.wait(_RETRY_SECS)

    def _progress(self, done: int, total: int) -> None:
        self.loading = Loading(done, total)
        self.journal.wake()

    def _take_up(self, changes: Changes) -> None:
        if not changes:
            return
        self.journal.changed(added=changes.added, removed=changes.removed, grown=changes.grown)
        self.diagnosis.take_up(added=changes.added, removed=changes.removed, grown=changes.grown)

    def wait_until_loaded(self, timeout_secs: float | None = None) -> bool:
        """Whether everything that was there at the start has been read, waited for at most so long."""
        return self._loaded.wait(timeout_secs)

    def close(self) -> None:
        """Stop following, and end all streams."""
        self.closed = True
        self._stop.set()
        self.diagnosis.close()
        self.journal.wake()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(2.0)
        self._index.close()

    # ---- names

    @property
    def directories(self) -> list[str]:
        """The log directories, as the user may know them."""
        return [f"{root.name}:{root.path}" if root.name else root.path for root in self.log.roots]

    def run(self, name: str) -> Run:
        """A run by its name or alias."""
        return self.log[name]

    def values(self, run: Run, tag: str, *, kind: str) -> list[Any]:
        """A tag's values of one kind, decoded."""
        return self._decoded.values(run, tag, kind=kind, revision=self.journal.revision_of(run.name))

    def runs(self, names: Iterable[str] | None) -> list[str]:
        """The names of the runs asked for, aliases made names; all where None. Those that are gone are left out.

        RunNotFound where there were names and none is known.
        """
        if names is None:
            return list(self.log)
        names = list(names)
        known = dict.fromkeys(self.log[name].name for name in names if name in self.log)
        if names and not known:
            raise RunNotFound(names[0], known=self.log)
        return list(known)

    def live_at(self) -> int:
        """A number that is another every half minute: whether a run is live depends on the clock."""
        return int(time.time() // 30)

    def state_of(self, runs: Iterable[str]) -> list[tuple[str, int]]:
        """What an answer about these runs depends on."""
        return [(name, self.journal.revision_of(name)) for name in runs]

    # ---- marks

    def marks_by_run(self) -> dict[str, dict[str, Any]]:
        """The marks of the runs that have any."""
        kept = self.marks.all()
        if not kept:
            return {}
        return {name: kept[at] for name, run in self.log.items() if (at := key_of(run.directory)) in kept}

    def set_marks(self, marks: dict[str, dict[str, Any] | None]) -> None:
        """Give runs marks."""
        self.marks.set({self.log[name].directory: said for name, said in marks.items()})
        self.journal.marked(self.log[name].name for name in marks)
