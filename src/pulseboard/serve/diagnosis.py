"""The diagnosis beside the charts: trainings are read one after the other on a thread of their own.

The room that diagnoses is loaded when the first run is there to be read. Where it is not installed everything here
answers "not diagnosed", and the charts lack nothing.
"""

from __future__ import annotations

import importlib.util
import logging
import math
import threading
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pulseboard.diagnose.cases import Training
    from pulseboard.diagnose.profile import Profile
    from pulseboard.read.log import Log
    from pulseboard.serve.journal import Journal

# The first chart comes before the first report.
_BEGIN_AFTER_SECS = 1.0
# Requests come first: after each training the thread rests, three times as long as it worked the first time, and
# twenty times as long when a run that goes on is read again. So following live runs costs a twentieth of a core.
_REST, _REST_AGAIN = 3.0, 20.0
_MOST_REST_SECS = 60.0
# While somebody is asking, a training waits for a pause in the questions, but not for ever.
_PAUSE_SECS, _MOST_PAUSE_SECS = 0.25, 2.0

_log = logging.getLogger("pulseboard.serve")

Report = Mapping[str, Any]


class Diagnosis:
    """Reports of trainings, brought up to date when one of their runs grows."""

    def __init__(self, log: Log, journal: Journal) -> None:
        self._log, self._journal = log, journal
        self._reports: dict[str, Report] = {}  # by training
        self._training_of: dict[str, str] = {}  # run -> training: splits of one training lie side by side
        self._waiting: dict[str, None] = {}  # runs, in the order they came
        self._trainings: dict[str, Training] | None = None  # by run; None: runs came or went since
        self._profile: Profile | None = None
        self._tagless: frozenset[str] = frozenset()  # runs that had no tag yet when the profile was chosen
        self._changes = 0  # how often runs came, went or got their first tags
        self._ready = threading.Condition()
        self._closed = False
        self._asked = -math.inf  # when somebody asked for something last
        self._thread: threading.Thread | None = None
        self.available: bool = importlib.util.find_spec("pulseboard.diagnose") is not None
        """Whether runs are diagnosed at all."""

    def take_up(self, *, added: Iterable[str] = (), removed: Iterable[str] = (), grown: Iterable[str] = ()) -> None:
        """Read these runs when there is time."""
        if not self.available:
            return
        added, removed = list(added), list(removed)
        with self._ready:
            grown = list(grown)
            if added or removed:
                self._trainings = None
            if added or removed or not self._tagless.isdisjoint(grown):
                self._profile = None
                self._changes += 1
            for name in removed:
                self._waiting.pop(name, None)
                self._reports.pop(self._training_of.pop(name, name), None)
            self._waiting |= dict.fromkeys([*added, *grown])
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="pulseboard-diagnose", daemon=True)
                self._thread.start()
            self._ready.notify()

    def stand_back(self) -> None:
        """Somebody is waiting for an answer: let it come first."""
        self._asked = time.monotonic()

    def close(self) -> None:
        """Let the thread end after the training in hand."""
        with self._ready:
            self._closed = True
            self._ready.notify()

    # ---- answers

    def status(self, run: str) -> str | None:
        """ok, info, warning or critical; None where the run is not diagnosed yet."""
        report = self._reports.get(self._training_of.get(run, run))
        return None if report is None else str(report["status"])

    def report(self, runs: Iterable[str]) -> dict[str, Any]:
        """The report of `pulseboard diagnose --json` over the runs that are read; `pending` names the others."""
        names = list(runs)
        trainings = dict.fromkeys(self._training_of.get(name, name) for name in names)
        done = [report for training in trainings if (report := self._reports.get(training)) is not None]
        pending = [name for name in names if self.status(name) is None] if self.available else []
        return {"schema": 1, "runs": done, "pending": pending}

    def guide(self, slug: str) -> tuple[str, str] | None:
        """The title and the Markdown of a finding's page; None where there is none."""
        if not self.available:
            return None
        from pulseboard.diagnose.guide import NoGuide, guide

        try:
            page = guide(slug)
        except NoGuide:
            return None
        return page.title, page.text

    def meaning(self, tag: str) -> dict[str, Any] | None:
        """What a tag stands for, and what is healthy for it; None where nobody says."""
        if not self.available:
            return None
        from pulseboard.diagnose.roles import BY_NAME, possible_roles

        profile = self._chosen_profile()
        metric = profile.metric(tag)
        # Bands that depend on a run's size are drawn for no run in particular, so not at all.
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

    def _chosen_profile(self) -> Profile:
        from pulseboard.diagnose.profile import choose_profile

        profile, changes = self._profile, self._changes
        if profile is None:
            tags = {name: run.tags("scalar") for name, run in list(self._log.items())}
            profile = choose_profile(sorted({tag for of_run in tags.values() for tag in of_run}))
            with self._ready:
                # Before the first runs are taken up the log is empty or still loading: the next question asks again.
                if changes == self._changes > 0 and any(tags.values()):
                    self._profile = profile
                    self._tagless = frozenset(name for name, of_run in tags.items() if not of_run)
        return profile

    # ---- the thread

    def _work(self) -> None:
        self._rest(_BEGIN_AFTER_SECS)
        while (name := self._next()) is not None:
            self._let_others_first()
            # Its own time: on a busy machine the clock on the wall would make it rest for the work of others.
            began = time.thread_time()
            again = self._training_of.get(name) in self._reports
            self._diagnose(name)
            self._rest((time.thread_time() - began) * (_REST_AGAIN if again else _REST))

    def _next(self) -> str | None:
        with self._ready:
            self._ready.wait_for(lambda: self._waiting or self._closed)
            if self._closed:
                return None
            name = next(iter(self._waiting))
            del self._waiting[name]
            return name

    def _rest(self, secs: float) -> None:
        with self._ready:
            self._ready.wait_for(lambda: self._closed, min(secs, _MOST_REST_SECS))

    def _let_others_first(self) -> None:
        until = time.monotonic() + _MOST_PAUSE_SECS
        while (now := time.monotonic()) < until and now - self._asked < _PAUSE_SECS and not self._closed:
            self._rest(_PAUSE_SECS - (now - self._asked))

    def _diagnose(self, name: str) -> None:
        from pulseboard.diagnose.diagnosis import report_on_training

        try:
            training = self._training(name)
            if training is None:
                return  # gone meanwhile
            report = report_on_training(training).to_dict()
        except Exception:
            _log.exception("The diagnosis of run %r failed.", name)
            return
        runs = [run.name for _, run in training.parts]
        before = {
            finding["slug"]: finding["severity"] for finding in self._reports.get(training.name, {}).get("findings", ())
        }
        with self._ready:
            for run in runs:
                self._training_of[run] = training.name
                self._waiting.pop(run, None)
            self._reports[training.name] = report
        for finding in report["findings"]:
            if before.get(finding["slug"]) != finding["severity"]:
                told = ("slug", "severity", "summary", "first_step")
                self._journal.found(runs[0], {key: finding.get(key) for key in told})
        for run in runs:
            self._journal.diagnosed(run)

    def _training(self, run: str) -> Training | None:
        """The training that a run belongs to."""
        from pulseboard.diagnose.cases import trainings

        known = self._trainings
        if known is None:
            known = {part.name: training for training in trainings(self._log) for _, part in training.parts}
            self._trainings = known
        return known.get(run)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
