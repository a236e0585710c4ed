"""Live diagnosis: the same detectors during training, on their own thread.

It is the sink `diagnosis`, so recording does not know about it. A bounded amount of each series is kept, so a check
costs the same in the last hour of a run as in the first.
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

from pulseboard.core.finding import RunReport, report_dict
from pulseboard.core.histogram import Histogram
from pulseboard.core.json_numbers import encode_numbers
from pulseboard.diagnose.alerts import Alert, Alerts
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.cases import counts_overlaps, overlaps_in
from pulseboard.diagnose.context import Context
from pulseboard.diagnose.diagnosis import report_on
from pulseboard.diagnose.profile import choose_profile
from pulseboard.diagnose.roles.resolve import changes_for, read_tracks
from pulseboard.diagnose.track import Track
from pulseboard.record.messages import warn_once
from pulseboard.record.sink import RunInfo, Sink, sink
from pulseboard.rundir import layout

# A check every second, or less often if it would take more than a fiftieth of the time.
_LOOK_SECS = 1.0
_MOST_LOOKING = 1 / 50
_KEPT_HISTOGRAMS = 4
_WEBHOOK_SECS = 5.0


class Watcher:
    """A run's series as they arrive, and a report on them whenever one is requested."""

    def __init__(self, name: str, path: str, config: Mapping[str, Any]) -> None:
        self.name, self.path = name, path
        self.config = dict(config)
        self.status = "running"
        self.restarts: list[int] = []
        self._tracks: dict[str, Track] = {}
        self._waiting: dict[str, tuple[list[int], list[float], list[float]]] = {}
        self._reached: dict[str, Any] = {}  # tag -> greatest and last step, where steps that come again count
        self._overlaps: dict[str, int] = {}
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

    def add_series(self, tag: str, steps: Any, wall_times: Any, values: Any) -> None:
        """Points that were logged before."""
        track = self._tracks.get(tag)
        if track is None:
            track = self._tracks[tag] = Track(tag, changes=changes_for(tag))
        track.append(steps, wall_times, values)
        if len(steps) and counts_overlaps(tag):
            before = self._reached.get(tag, np.zeros(0, np.int64))
            both = np.concatenate([before, steps])
            self._overlaps[tag] = self._overlaps.get(tag, 0) + overlaps_in(both) - overlaps_in(before)
            self._reached[tag] = np.array([both.max(), both[-1]])

    def last_wall(self, tag: str) -> float:
        """When the tag's last point was logged; minus infinity if there is none."""
        track = self._tracks.get(tag)
        return track.last_wall if track is not None and len(track) else float("-inf")

    def report(self) -> RunReport:
        """The report on what has been logged so far."""
        for tag, (steps, walls, values) in self._waiting.items():
            # Rounded like in the event file, so that the saved run gives the same findings.
            with np.errstate(over="ignore"):
                kept = np.asarray(values, np.float32).astype(np.float64)
            self.add_series(tag, np.asarray(steps, np.int64), np.asarray(walls, np.float64), kept)
        self._waiting.clear()
        profile = choose_profile(self._tracks)
        case = Case(
            name=self.name,
            path=self.path,
            tracks=dict(self._tracks),
            reading=read_tracks(self._tracks, given=profile.roles),
            profile=profile,
            context=Context.of(self.config, status=self.status),
            ranks={0: self._tracks},
            histograms=self._histograms,
            restarts=self.restarts,
            overlaps=max(self._overlaps.values(), default=0),
        )
        return report_on(case)


@sink(id="diagnosis")
class LiveDiagnosis(Sink):
    """Checks the run about once a second, reports what is new, and writes findings.json."""

    def __init__(self, info: RunInfo) -> None:
        self._info = info
        self._watcher = Watcher(info.id, info.directory, info.config)
        self._alerts = Alerts()
        self._looked_at = time.monotonic()
        self._look_took = 0.0
        self._last: RunReport | None = None
        self._before: dict[str, float] = {}  # tag -> up to when its points were read from the files
        self._catch_up()

    def scalars(self, values: dict[str, float], *, step: int, wall_time: float) -> None:
        """Keep them, and check if it is time to."""
        if self._before:
            values = {tag: value for tag, value in values.items() if wall_time > self._before.get(tag, 0.0)}
        self._watcher.scalars(values, step=step, wall_time=wall_time)
        wait = max(_LOOK_SECS, self._look_took / _MOST_LOOKING)
        if time.monotonic() - self._looked_at >= wait:
            self._look()

    def histogram(self, tag: str, histogram: Histogram) -> None:
        """Keep it for the next check."""
        self._watcher.histogram(tag, histogram)

    def config(self, values: Mapping[str, Any]) -> None:
        """Update the run's config."""
        self._watcher.config.update(values)

    def flush(self) -> None:
        """Check now."""
        self._look()

    def close(self, *, status: str) -> None:
        """Check the whole run one last time."""
        self._watcher.status = status
        self._look()

    def _catch_up(self) -> None:
        """Read what the run logged before: it was resumed, or diagnosis was started late."""
        from pulseboard.read.runs import read

        events = Path(self._info.directory) / layout.EVENTS_DIRECTORY
        if not events.is_dir():
            return
        for run in read(events).values():
            self._watcher.restarts += [restart.step for restart in run.restarts() if restart.step > 0]
            for tag in run.tags("scalar"):
                series = run.series(tag)
                self._watcher.add_series(tag, series.steps, series.wall_times, series.values)
                self._before[tag] = self._watcher.last_wall(tag)

    def _look(self) -> None:
        # Time of this thread only: a busy machine is not a reason to check less often.
        began = time.thread_time()
        report = self._watcher.report()
        self._last = report
        if self._info.report_findings is not None:
            self._info.report_findings(report.findings, report.incidents)
        url = self._info.settings.get("webhook")
        for alert in self._alerts.update(report) if url else ():
            self._post(str(url), alert)
        self._write(report)
        self._looked_at = time.monotonic()
        self._look_took = time.thread_time() - began

    def _post(self, url: str, alert: Alert) -> None:
        """The text for Slack and similar tools, and the incident as JSON for others."""
        content = {"text": f"{self._info.id}: {alert.text}", "run": self._info.id, **alert.to_dict()}
        body = json.dumps(encode_numbers(content)).encode()
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=_WEBHOOK_SECS):
                pass
        except (OSError, ValueError) as error:
            warn_once("webhook", f"An alert could not be posted to the webhook: {error}. Training continues.")

    def _write(self, report: RunReport) -> None:
        path = Path(self._info.directory) / "findings.json"
        part = path.with_suffix(".json.part")
        try:
            part.write_text(json.dumps(report_dict([report]), indent=1, default=str), encoding="utf-8")
            os.replace(part, path)
        except OSError as error:
            warn_once("findings.json", f"findings.json could not be written: {error}. Training continues.")
