"""The dashboard: everything one server shows, kept up to date by a thread. Endpoints query it."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pulseboard.core.errors import RemoteError, RunNotFound
from pulseboard.serve.live.diagnosis_worker import DiagnosisWorker
from pulseboard.serve.live.revisions import Revisions
from pulseboard.serve.live.value_cache import ValueCache
from pulseboard.serve.marks import MarksFile, key_of
from pulseboard.serve.saved_views import SavedViews

if TYPE_CHECKING:
    from pulseboard.alerts.rules_file import RulesFile
    from pulseboard.charts.index import Index
    from pulseboard.charts.interface import Charts
    from pulseboard.core.changes import Changes
    from pulseboard.read.discovery.log_directory import LogDirectory
    from pulseboard.read.run import Run
    from pulseboard.read.runs import Runs
    from pulseboard.serve.live.shared_reports import SharedReports
    from pulseboard.serve.user_file import Entries

_log = logging.getLogger("pulseboard.serve")

# Time until the next attempt after a disk error, such as a file server that is down.
_RETRY_SECS = 5.0


@dataclass(frozen=True, slots=True)
class Loading:
    """Progress of the first read, in files."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class _Source:
    """Where the runs of a dashboard come from, and where what users add to them is kept."""

    runs: Runs
    charts: Charts
    places: list[str]  # for people
    locations: list[str]
    index: Index | None = None
    marks: Entries | None = None  # None: in the user's data directory
    views: Entries | None = None
    reports: SharedReports | None = None


def _from_files(log_directories: Sequence[LogDirectory]) -> _Source:
    from pulseboard.charts.index import Index
    from pulseboard.charts.local import LocalCharts
    from pulseboard.read.runs import Runs

    index = Index()
    runs = Runs(log_directories, cache=index)
    places = [f"{one.name}:{one.location}" if one.name else one.location for one in log_directories]
    return _Source(runs, LocalCharts(runs, index=index), places, [one.location for one in log_directories], index)


def _from_database(url: str, project: str, media: Sequence[str]) -> _Source:
    from pulseboard.database.stored.charts import StoredCharts
    from pulseboard.database.stored.entries import StoredEntries
    from pulseboard.database.stored.reports import StoredReports
    from pulseboard.database.stored.runs import StoredRuns
    from pulseboard.serve.live.shared_reports import SharedReports

    runs = StoredRuns.open(url, project=project, media=media)
    place = f"{runs.connection.url}#{project}" if project else str(runs.connection.url)
    marks, views = (StoredEntries(runs.connection, kind) for kind in ("marks", "views"))
    reports = SharedReports(StoredReports(runs.connection))
    return _Source(runs, StoredCharts(runs), [place], [place], marks=marks, views=views, reports=reports)


class Dashboard:
    """Runs, charts, marks and findings of some log directories. `start` returns at once and reads on a thread."""

    def __init__(
        self,
        log_directories: Sequence[LogDirectory],
        *,
        title: str = "Pulseboard",
        every_secs: float = 5.0,
        marks: MarksFile | None = None,
        database: str | None = None,
        project: str = "",
        media: Sequence[str] = (),
    ) -> None:
        """`database` is the URL of a database that holds the runs, in place of log directories.

        `project` limits it to the runs of a database whose names begin with it. `media` are directories and URLs that
        hold their logs: images and audio may have stayed there.
        """
        self.title = title
        self.version: str = sys.modules["pulseboard"].__version__
        source = _from_files(log_directories) if database is None else _from_database(database, project, media)
        self.runs, self.charts, self._index = source.runs, source.charts, source.index
        self.directories = source.places
        """The log directories, as `name:path` if they have names; or the database."""
        self.revisions = Revisions()
        self.marks = marks or MarksFile(entries=source.marks)
        self.views = SavedViews(source.locations, entries=source.views)
        self.diagnosis = DiagnosisWorker(self.runs, self.revisions, shared=source.reports)
        self.alerts: RulesFile | None = None
        """The rules by which this server sends messages."""
        self._value_cache = ValueCache()
        self.loading: Loading | None = Loading(0, 0)
        self.closed = False
        self._every_secs = every_secs
        self._stop = threading.Event()
        self._loaded = threading.Event()
        self._thread: threading.Thread | None = None

    # ---- the thread

    def start(self, *, on_loaded: Callable[[Dashboard], None] | None = None) -> None:
        """Read everything, then follow it. `on_loaded` is called after the first read."""
        self._thread = threading.Thread(target=self._work, args=(on_loaded,), name="pulseboard-dashboard", daemon=True)
        self._thread.start()

    def _work(self, on_loaded: Callable[[Dashboard], None] | None) -> None:
        said = ""  # the last error of a remote directory, which is printed once
        while not self._stop.is_set():
            try:
                if not self._loaded.is_set():
                    self._apply(self.charts.refresh(progress=self._show_progress))
                    self.loading = None
                    self._loaded.set()
                    self.revisions.notify()
                    if on_loaded is not None:
                        on_loaded(self)
                if self._every_secs <= 0:  # TensorBoard's convention for reading once
                    return
                # The thread ends when `stop` is set, or on a disk error.
                self.charts.follow(every_secs=self._every_secs, stop=self._stop, on_change=self._apply).join()
            except RemoteError as error:
                if str(error) != said:
                    _log.warning("%s  Trying again every %.0f s.", error, _RETRY_SECS)
                said = str(error)
            except Exception:
                # Charts of what was read before keep working.
                _log.exception("Reading the log directories failed; retrying in %.0f s.", _RETRY_SECS)
            self._stop.wait(_RETRY_SECS)

    def _show_progress(self, done: int, total: int) -> None:
        self.loading = Loading(done, total)
        self.revisions.notify()

    def _apply(self, changes: Changes) -> None:
        if not changes:
            return
        grown = {name: self.charts.last_step(name) for name in changes.grown}
        self.revisions.record_changes(added=changes.added, removed=changes.removed, grown=grown)
        self.diagnosis.enqueue(added=changes.added, removed=changes.removed, grown=grown)

    def close(self) -> None:
        """Stop following, and end all streams."""
        self.closed = True
        self._stop.set()
        self.diagnosis.close()
        self.revisions.notify()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(2.0)
        self.runs.close()
        if self._index is not None:
            self._index.close()

    # ---- runs

    def run(self, name: str) -> Run:
        """The run with this name or alias. Raises RunNotFound."""
        return self.runs[name]

    def run_names(self, names: Iterable[str] | None) -> list[str]:
        """The names of the requested runs, with aliases resolved; all runs if None. Unknown runs are left out.

        Raises RunNotFound if names were given and none of them is known.
        """
        if names is None:
            return list(self.runs)
        names = list(names)
        known = dict.fromkeys(self.runs[name].name for name in names if name in self.runs)
        if names and not known:
            raise RunNotFound(names[0], known=self.runs)
        return list(known)

    def values(self, run: Run, tag: str, *, kind: str) -> list[Any]:
        """A tag's decoded values of one kind."""
        return self._value_cache.values(run, tag, kind=kind, revision=self.revisions.of(run.name))

    def state_of(self, runs: Iterable[str]) -> list[tuple[str, int]]:
        """What a response about these runs depends on; for `ApiRequest.revalidate`."""
        return [(name, self.revisions.of(name)) for name in runs]

    def half_minute(self) -> int:
        """The current half minute since 1970: whether a run is live depends on the clock."""
        return int(time.time() // 30)

    # ---- marks

    def marks_by_run(self) -> dict[str, dict[str, Any]]:
        """The marks of all runs that have any."""
        by_key = self.marks.all()
        if not by_key:
            return {}
        return {name: by_key[key] for name, run in self.runs.items() if (key := key_of(*run.identity)) in by_key}

    def set_marks(self, marks: dict[str, dict[str, Any] | None], *, by: str | None = None) -> None:
        """Replace the marks of these runs; None removes them. `by` is the name of the user, if it is known."""
        self.marks.set({key_of(*self.runs[name].identity): given for name, given in marks.items()}, by=by)
        self.revisions.record_marks(self.runs[name].name for name in marks)
