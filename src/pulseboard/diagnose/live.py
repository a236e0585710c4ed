"""Live diagnosis: the same detectors beside the training loop, on a thread of their own.

It comes as the sink `diagnosis`, so recording knows nothing of it. What is kept of each series is bounded, so a look
costs the same in a run's last hour as in its first.
"""

from __future__ import annotations

import json
import os
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pulseboard.core.finding import SEVERITIES, Finding, RunReport, report_dict
from pulseboard.core.values import Histogram
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.context import Context
from pulseboard.diagnose.diagnosis import report_on
from pulseboard.diagnose.profile import choose_profile
from pulseboard.diagnose.roles import changes_for, read_roles
from pulseboard.diagnose.track import Track
from pulseboard.files import layout
from pulseboard.record.report import say_once
from pulseboard.record.sink import RunInfo, Sink, sink

# A look every second, or less often where it would take more than a fiftieth of the time.
_LOOK_SECS = 1.0
_MOST_LOOKING = 1 / 50
_KEPT_HISTOGRAMS = 4
_WEBHOOK_SECS = 5.0


class Watcher:
    """A run's series as they come, and a report on them whenever one is wanted."""

    def __init__(self, name: str, path: str, config: Mapping[str, Any]) -> None:
        self.name, self.path = name, path
        self.config = dict(config)
        self.status = "running"
        self.restarts: list[int] = []
        self._tracks: dict[str, Track] = {}
        self._waiting: dict[str, tuple[list[int], list[float], list[float]]] = {}
        self._histograms: dict[str, list[Histogram]] = {}

    def scalars(self, values: Mapping[str, float], *, step: int, wall_time: float) -> None:
        """The scalars of one `log` call."""
        for tag, value in values.items():
            waiting = self._waiting.get(tag)
            if waiting is None:
                waiting = self._waiting[tag] = ([], [], [])
            waiting[0].append(step)
            waiting[1].append(wall_time)
            waiting[2].append(value)

    def histogram(self, tag: str, histogram: Histogram) -> None:
        """One histogram; the last few are kept."""
        kept = self._histograms.setdefault(tag, [])
        kept.append(histogram)
        del kept[:-_KEPT_HISTOGRAMS]

    def take_up(self, tag: str, steps: Any, wall_times: Any, values: Any) -> None:
        """Points that were logged before."""
        track = self._tracks.get(tag)
        if track is None:
            track = self._tracks[tag] = Track(tag, changes=changes_for(tag))
        track.append(steps, wall_times, values)

    def last_wall(self, tag: str) -> float:
        """When the tag's last point was logged; minus infinity where there is none."""
        track = self._tracks.get(tag)
        return track.last_wall if track is not None and len(track) else float("-inf")

    def report(self) -> RunReport:
        """What the detectors say now."""
        for tag, (steps, walls, values) in self._waiting.items():
            # As the event file keeps them, so that the saved run gives the same findings.
            with np.errstate(over="ignore"):
                kept = np.asarray(values, np.float32).astype(np.float64)
            self.take_up(tag, np.asarray(steps, np.int64), np.asarray(walls, np.float64), kept)
        self._waiting.clear()
        profile = choose_profile(self._tracks)
        case = Case(
            name=self.name,
            path=self.path,
            tracks=dict(self._tracks),
            reading=read_roles({tag: len(track) for tag, track in self._tracks.items()}, given=profile.roles),
            profile=profile,
            context=Context.of(self.config, status=self.status),
            ranks={0: self._tracks},
            histograms=self._histograms,
            restarts=self.restarts,
        )
        return report_on(case)


@sink(id="diagnosis")
class LiveDiagnosis(Sink):
    """Looks at the run about once a second, tells what is new, and keeps findings.json."""

    def __init__(self, info: RunInfo) -> None:
        self._info = info
        self._watcher = Watcher(info.id, info.directory, info.config)
        self._told: dict[tuple[str, str], str] = {}
        self._looked_at = time.monotonic()
        self._look_took = 0.0
        self._last: RunReport | None = None
        self._before: dict[str, float] = {}  # tag -> up to when its points were read from the files
        self._catch_up()

    def scalars(self, values: dict[str, float], *, step: int, wall_time: float) -> None:
        """Keep them, and look where it is time to."""
        if self._before:
            values = {tag: value for tag, value in values.items() if wall_time > self._before.get(tag, 0.0)}
        self._watcher.scalars(values, step=step, wall_time=wall_time)
        wait = max(_LOOK_SECS, self._look_took / _MOST_LOOKING)
        if time.monotonic() - self._looked_at >= wait:
            self._look()

    def histogram(self, tag: str, histogram: Histogram) -> None:
        """Keep it for the next look."""
        self._watcher.histogram(tag, histogram)

    def config(self, values: Mapping[str, Any]) -> None:
        """What the run's configuration says now."""
        self._watcher.config.update(values)

    def flush(self) -> None:
        """Look at once."""
        self._look()

    def close(self, *, status: str) -> None:
        """A last look at the whole run."""
        self._watcher.status = status
        self._look()

    def _catch_up(self) -> None:
        """What the run logged before: it was resumed, or diagnosis was asked for late."""
        from pulseboard.read.log import read

        events = Path(self._info.directory) / layout.EVENTS_DIRECTORY
        if not events.is_dir():
            return
        for run in read(events).values():
            self._watcher.restarts += [restart.step for restart in run.restarts() if restart.step > 0]
            for tag in run.tags("scalar"):
                series = run.series(tag)
                self._watcher.take_up(tag, series.steps, series.wall_times, series.values)
                self._before[tag] = self._watcher.last_wall(tag)

    def _look(self) -> None:
        # Of this thread alone: a busy machine is no reason to look less often.
        began = time.thread_time()
        report = self._watcher.report()
        self._last = report
        for finding in report.findings:
            key = (finding.slug, finding.metric)
            graver = SEVERITIES.index(finding.severity)
            if key not in self._told or graver > SEVERITIES.index(self._told[key]):
                self._told[key] = finding.severity
                self._tell(finding)
        self._write(report)
        self._looked_at = time.monotonic()
        self._look_took = time.thread_time() - began

    def _tell(self, finding: Finding) -> None:
        if self._info.tell is not None:
            self._info.tell(finding)
        url = self._info.settings.get("webhook")
        if url and finding.severity != "info":
            self._post(str(url), finding)

    def _post(self, url: str, finding: Finding) -> None:
        """As Slack and its like take it, with the finding beside the text for others."""
        text = f"{self._info.id}: {finding.severity} {finding.slug}. {finding.summary}"
        body = json.dumps({"text": text, "run": self._info.id, "finding": finding.to_dict()}).encode()
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=_WEBHOOK_SECS):
                pass
        except (OSError, ValueError) as error:
            say_once("webhook", f"A finding could not be posted to the webhook: {error}. Training goes on.")

    def _write(self, report: RunReport) -> None:
        path = Path(self._info.directory) / "findings.json"
        part = path.with_suffix(".json.part")
        try:
            part.write_text(json.dumps(report_dict([report]), indent=1, default=str), encoding="utf-8")
            os.replace(part, path)
        except OSError as error:
            say_once("findings.json", f"findings.json could not be written: {error}. Training goes on.")
