"""Diagnosis in the background: trainings are diagnosed one after the other on a low-priority thread.

`pulseboard.diagnose` is imported when the first run arrives. If it is not installed, every run counts as not diagnosed,
and charts work as usual.
"""

from __future__ import annotations

import importlib.util
import logging
import math
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pulseboard.serve.live.kept_reports import KeptReports, Report

if TYPE_CHECKING:
    from pulseboard.core.finding import RunReport
    from pulseboard.diagnose.cases import Training
    from pulseboard.diagnose.profile import Profile
    from pulseboard.read.runs import Runs
    from pulseboard.serve.live.revisions import Revisions
    from pulseboard.serve.live.shared_reports import SharedReports

# The first chart comes before the first report.
_START_AFTER_SECS = 1.0
# Requests come first: after each training the thread rests for three times as long as it worked, and for twenty times
# as long when it diagnosed a growing run again. So following live runs costs a twentieth of a core.
_REST_FACTOR, _REST_FACTOR_AGAIN = 3.0, 20.0
_MAX_REST_SECS = 60.0
# Time until the next attempt after an error of the system.
_RETRY_SECS = 5.0
# Reports of others are asked for this often.
_SHARED_SECS = 1.0
# A training waits for a pause between requests of this length, but not forever.
_PAUSE_SECS, _MAX_WAIT_SECS = 0.25, 2.0

_log = logging.getLogger("pulseboard.serve")


class DiagnosisWorker:
    """Reports of trainings, updated when one of their runs grows."""

    def __init__(self, runs: Runs, revisions: Revisions, *, shared: SharedReports | None = None) -> None:
        """`shared` brings reports that others make of the same runs."""
        self._runs, self._revisions, self._shared = runs, revisions, shared
        self._reports = KeptReports()  # by training
        self._training_of: dict[str, str] = {}  # run -> training, which may have one run per data split
        self._queue: dict[str, None] = {}  # names of runs, oldest first
        self._trainings: dict[str, Training] | None = None  # by run; None after runs were added or removed
        self._profile: Profile | None = None
        self._tagless: frozenset[str] = frozenset()  # runs that had no tags yet when the profile was chosen
        self._changes = 0  # how often runs were added, removed, or got their first tags
        self._condition = threading.Condition()
        self._closed = False
        self._last_request = -math.inf  # monotonic time
        self._thread: threading.Thread | None = None
        self._listeners: list[Callable[[Training, RunReport], None]] = []
        self.available: bool = importlib.util.find_spec("pulseboard.diagnose") is not None
        """Whether runs are diagnosed at all."""

    def enqueue(self, *, added: Iterable[str] = (), removed: Iterable[str] = (), grown: Iterable[str] = ()) -> None:
        """Diagnose these runs when there is time, and forget removed ones."""
        if not self.available:
            return
        added, removed, grown = list(added), list(removed), list(grown)
        with self._condition:
            if added or removed:
                self._trainings = None
            if added or removed or not self._tagless.isdisjoint(grown):
                self._profile = None
                self._changes += 1
            for name in removed:
                self._queue.pop(name, None)
                self._reports.remove(self._training_of.pop(name, name))
            self._queue |= dict.fromkeys([*added, *grown])
            if self._thread is None or not self._thread.is_alive():
                self._start()
            self._condition.notify()

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, name="pulseboard-diagnose", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the system has no room for another thread now: the next change tries again
            _log.warning("The diagnosis cannot start: no more threads.")
            return
        self._thread = thread

    def listen(self, listener: Callable[[Training, RunReport], None]) -> None:
        """Call a function with every new report, on the thread that made it."""
        self._listeners.append(listener)

    def yield_to_requests(self) -> None:
        """A client waits for a response: the next training starts after a pause."""
        self._last_request = time.monotonic()

    def close(self) -> None:
        """Let the thread end after the current training."""
        with self._condition:
            self._closed = True
            self._condition.notify()

    # ---- queries

    def status(self, run: str) -> str | None:
        """ok, info, warning, critical or unknown; None if the run has not been diagnosed yet."""
        return self._reports.status(self._training_of.get(run, run))

    def report(self, runs: Iterable[str]) -> dict[str, Any]:
        """The report of `pulseboard diagnose --json` on the runs diagnosed so far; `pending` lists the others."""
        names = list(runs)
        trainings = dict.fromkeys(self._training_of.get(name, name) for name in names)
        done = [report for training in trainings if (report := self._reports.get(training)) is not None]
        pending = [name for name in names if self.status(name) is None] if self.available else []
        return {"schema": 2, "runs": done, "pending": pending}

    def guide(self, slug: str) -> tuple[str, str] | None:
        """The title and the Markdown of a finding's guide; None if there is no such guide."""
        if not self.available:
            return None
        from pulseboard.diagnose.guide import NoGuide, guide

        try:
            page = guide(slug)
        except NoGuide:
            return None
        return page.title, page.text

    def meaning(self, tag: str) -> dict[str, Any] | None:
        """What a tag measures, and which values are healthy; None if nothing is known about it."""
        if not self.available:
            return None
        from pulseboard.diagnose.roles.resolve import BY_NAME, possible_roles

        profile = self._chosen_profile()
        metric = profile.metric(tag)
        # Bands that depend on the size of a run cannot be drawn for several runs, so they are left out.
        metric = metric.fitted(choices=None, dimension=None) if metric else None
        role = (metric.role if metric else "") or next(iter(possible_roles(tag)), "")
        if metric is None and not role:
            return None
        return {
            "role": role or None,
            "meaning": (metric.meaning if metric else "") or (BY_NAME[role].meaning if role in BY_NAME else None),
            "expected": (metric.expected if metric else "") or None,
            "unit": (metric.unit if metric else "") or None,
            "warning_signs": list(metric.warning_signs) if metric else [],
            "bands": [
                {"kind": band.kind, "from": _finite(band.low), "to": _finite(band.high)}
                for band in (metric.bands if metric else ())
            ],
            "profile": profile.name,
        }

    def scorecard(self, run: str, *, profile: str | None) -> dict[str, Any]:
        """The guide of a profile, filled in for the training of a run. Raises NoDocument if no profile fits."""
        from pulseboard.diagnose.scorecard.scorecard import NoDocument, scorecard_of_training

        training = self._training(run) if self.available else None
        if training is None:
            raise NoDocument(run)
        return scorecard_of_training(training, profile=profile).to_dict()

    def _chosen_profile(self) -> Profile:
        from pulseboard.diagnose.profile import choose_profile

        profile, changes = self._profile, self._changes
        if profile is None:
            tags = {name: run.tags("scalar") for name, run in list(self._runs.items())}
            profile = choose_profile(sorted({tag for of_run in tags.values() for tag in of_run}))
            with self._condition:
                # Until the first runs are queued, the log is empty or still loading; then the choice is not kept.
                if changes == self._changes > 0 and any(tags.values()):
                    self._profile = profile
                    self._tagless = frozenset(name for name, of_run in tags.items() if not of_run)
        return profile

    # ---- the thread

    def _work(self) -> None:
        self._rest(_START_AFTER_SECS)
        while (name := self._next()) is not None:
            self._wait_for_pause()
            # The thread's own time: on a busy machine, wall time would make it rest for the work of others.
            began = time.thread_time()
            again = self._training_of.get(name) in self._reports
            try:
                with self._runs.contained():
                    self._diagnose(name)
            except OSError as error:
                # No file descriptors, or a disk that is gone: that is not the run's fault, and passes.
                _log.warning("The diagnosis waits %.0f s: %s.", _RETRY_SECS, error.strerror or error)
                self._again(name)
                self._rest(_RETRY_SECS)
            except Exception:
                _log.exception("The diagnosis of run %r failed.", name)
            self._rest((time.thread_time() - began) * (_REST_FACTOR_AGAIN if again else _REST_FACTOR))

    def _next(self) -> str | None:
        while True:
            self._take_shared()
            with self._condition:
                self._condition.wait_for(lambda: self._queue or self._closed, _SHARED_SECS if self._shared else None)
                if self._closed:
                    return None
                if self._queue:
                    name = next(iter(self._queue))
                    del self._queue[name]
                    return name

    def _take_shared(self) -> None:
        """Show the reports of other workers, and diagnose their share if they are gone."""
        if self._shared is None or self._listeners:
            return
        for training, report in self._shared.take(self._trainings_by_run()):
            self._show(training, report)
        for name in self._shared.left_behind():
            self._again(name)

    def _again(self, name: str) -> None:
        with self._condition:
            self._queue[name] = None

    def _rest(self, secs: float) -> None:
        with self._condition:
            self._condition.wait_for(lambda: self._closed, min(secs, _MAX_REST_SECS))

    def _wait_for_pause(self) -> None:
        until = time.monotonic() + _MAX_WAIT_SECS
        while (now := time.monotonic()) < until and now - self._last_request < _PAUSE_SECS and not self._closed:
            self._rest(_PAUSE_SECS - (now - self._last_request))

    def _diagnose(self, name: str) -> None:
        from pulseboard.diagnose.diagnosis import report_on_training

        training = self._training(name)
        if training is None:
            return  # removed in the meantime
        # A listener needs more than what is shared.
        if self._shared is not None and not self._listeners and self._shared.cares_for(name, training):
            return
        made = report_on_training(training)
        for listener in self._listeners:
            listener(training, made)
        self._show(training, made.to_dict())

    def _show(self, training: Training, report: Report) -> None:
        runs = [run.name for _, run in training.parts]
        before = self._reports.severities(training.name)
        with self._condition:
            for run in runs:
                self._training_of[run] = training.name
                self._queue.pop(run, None)
            self._reports.put(training.name, report)
        for finding in report["findings"]:
            if before.get(finding["slug"]) != finding["severity"]:
                keys = ("slug", "severity", "summary", "first_step")
                self._revisions.record_finding(runs[0], {key: finding.get(key) for key in keys})
        for run in runs:
            self._revisions.record_report(run)

    def _training(self, run: str) -> Training | None:
        """The training that a run belongs to."""
        found = self._trainings_by_run().get(run)
        # A run of a database is another object after it has grown.
        if found is not None and any(self._runs.get(part.name) is not part for _, part in found.parts):
            self._trainings = None
            found = self._trainings_by_run().get(run)
        return found

    def _trainings_by_run(self) -> dict[str, Training]:
        from pulseboard.diagnose.cases import trainings

        known = self._trainings
        if known is None:
            known = {part.name: training for training in trainings(self._runs) for _, part in training.parts}
            self._trainings = known
        return known


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
