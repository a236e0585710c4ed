"""A case: one run as detectors see it. They read no files and no clock; everything they need is here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pulseboard.core.finding import Evidence, Finding, Severity
from pulseboard.core.histogram import Histogram
from pulseboard.diagnose.context import Context
from pulseboard.diagnose.earlier import Earlier
from pulseboard.diagnose.plan import settled
from pulseboard.diagnose.profile import Profile
from pulseboard.diagnose.roles.reading import Reading
from pulseboard.diagnose.stats.band import Departure
from pulseboard.diagnose.track import Points, Track
from pulseboard.read.axis.info import AxisInfo

# A run that is still going is not said to learn nothing before it has this many points.
_PATIENCE_POINTS = 64
# A log that begins after this many times the steps that it covers is a part of a longer training.
_LATE = 2.0


class TooShort(Exception):
    """Raised by a detector that has too few points yet; says how many it needs."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to the run and may explain a change in its curves."""

    step: int
    what: str
    declared: bool  # planned by the user, as far as the log says


@dataclass(slots=True)
class Case:
    """Everything known about one run."""

    name: str
    path: str
    tracks: Mapping[str, Track]
    reading: Reading
    profile: Profile
    context: Context = field(default_factory=Context)
    ranks: Mapping[int, Mapping[str, Track]] = field(default_factory=dict)  # rank -> tag -> track, rank 0 among them
    histograms: Mapping[str, Sequence[Histogram]] = field(default_factory=dict)
    restarts: Sequence[int] = ()  # steps at which the run was resumed
    overlaps: int = 0  # points at steps that were logged before, by a restart or a second writer
    earlier: Earlier | None = None  # known-good runs of the same task, if the user gave some
    axis: AxisInfo | None = None  # what the steps of the main loss count, if the reader knows
    now: float | None = None  # seconds since 1970 if the run is watched live; None for a saved run
    facts: dict[str, Any] = field(default_factory=dict)  # what has been established; see facts/fact.py
    _events: list[Event] | None = None
    _warm_up: int | None = None

    def __post_init__(self) -> None:
        self.context = settled(self.context, self.tracks, self.reading, self.axis, ended=self.finished)
        # The classes may belong to a probe: a loss on features or noise is not a cross-entropy.
        kinds = ("ema.", "collapse.", "mask.", "loss.quantiles")
        if any(role.startswith(kinds) for role in self.reading.tags):
            self.context = replace(self.context, choices=None, entropy=None)

    # ---- series

    def one(self, role: str) -> Track | None:
        """The series of a role; if there are several, the main one."""
        tag = self.reading.first(role)
        return self.tracks.get(tag) if tag is not None else None

    def every(self, role: str) -> list[Track]:
        """All series of a role: levels, datasets, devices."""
        return [self.tracks[tag] for tag in self.reading.tags.get(role, ()) if tag in self.tracks]

    def need(self, role: str, *, points: int = 1) -> Track:
        """The series of a role that the detector reads. TooShort if it has fewer points."""
        track = self.one(role)
        assert track is not None, f"{role} is not among the roles the detector says it reads"
        # If more than one is needed, they will be used in calculations.
        there = len(track) if points == 1 else track.finite_count
        if there < points:
            raise TooShort(f"{track.tag!r} has {there} of {points} points needed")
        return track

    def limit(self, slug: str, name: str) -> float:
        """A threshold of a finding, from the profile."""
        return self.profile.limit(slug, name)

    def departure(self, role: str) -> Departure | None:
        """Where the series of a role leaves the range of earlier runs; None if it stays inside or there are none."""
        return self.earlier.departure(self, role) if self.earlier is not None else None

    @property
    def gpu_memory_gb(self) -> float | None:
        """What the GPU has, from the config or as telemetry logged it; None if unknown."""
        logged = self.tracks.get("memory/vram_total_gb")
        return self.context.memory_limit_gb or (logged.high if logged is not None and len(logged) else None)

    # ---- time

    @property
    def steps(self) -> tuple[int, int] | None:
        """The first and last step of all series; None if there are no points."""
        some = [track for track in self.tracks.values() if track.first_step is not None]
        if not some:
            return None
        firsts = [track.first_step for track in some if track.first_step is not None]
        lasts = [track.last_step for track in some if track.last_step is not None]
        return min(firsts), max(lasts)

    @property
    def starts_late(self) -> bool:
        """Whether the log begins long after the training did: most of what was learned was learned before."""
        span = self.steps
        return span is not None and span[0] > _LATE * max(1, span[1] - span[0])

    @property
    def planned_steps(self) -> int | None:
        """The number of planned steps, if the config says so and the log agrees (plan.py)."""
        return self.context.planned_steps

    def progress(self, step: int) -> float | None:
        """The share of the planned training completed at a step."""
        planned = self.planned_steps
        return None if not planned else min(1.0, step / planned)

    @property
    def finished(self) -> bool:
        """Whether the run has ended, as far as the log shows."""
        if self.context.status is not None:
            return self.context.status != "running"
        return self.now is None

    def patient(self, points: float) -> float:
        """How many points it takes to say that nothing happens: more while the run is still going."""
        return points if self.finished else max(_PATIENCE_POINTS, points)

    @property
    def warm_up_step(self) -> int:
        """The step after which change and trend tests apply: the learning rate has stopped rising."""
        if self._warm_up is None:
            self._warm_up = self._find_warm_up()
        return self._warm_up

    def _find_warm_up(self) -> int:
        span = self.steps
        if span is None:
            return 0
        first, last = span
        found = first + int(0.02 * (self.planned_steps or (last - first)))
        rate = self.one("lr")
        if rate is not None and len(rate) >= 3:
            steps, values = rate.points(most=1024)
            top = values.max() if len(values) else 0.0
            if top > 0 and values[0] < 0.95 * top:
                reached = int(steps[int(np.argmax(values >= 0.95 * top))])
                # A rate that keeps rising is not a warm-up; other findings report it.
                if reached <= first + 0.25 * (last - first):
                    found = max(found, reached)
        return found

    @property
    def events(self) -> list[Event]:
        """What may explain changes: resumes, declared changes, schedule changes."""
        if self._events is None:
            found = [Event(int(step), "the run was resumed", declared=False) for step in self.restarts]
            found += [Event(step, what, declared=True) for step, what in self.context.declared_changes]
            for role in ("schedule.batch_size", "schedule.sequence_length"):
                for track in self.every(role):
                    found += [Event(step, f"{track.tag} changed", declared=True) for step in _changes(track.points())]
            self._events = sorted(found, key=lambda event: event.step)
        return self._events

    def explained_by(self, step: int, *, within_steps: int, until: int | None = None) -> Event | None:
        """A declared change shortly before a step, at it, or between it and `until`."""
        last = max(step + within_steps // 4, step if until is None else until)
        near = [e for e in self.events if e.declared and step - within_steps <= e.step <= last]
        return near[-1] if near else None

    # ---- reporting

    def finding(
        self,
        slug: str,
        severity: Severity,
        track: Track | str,
        summary: str,
        *,
        first_step: int | None = None,
        last_step: int | None = None,
        evidence: Sequence[Evidence] = (),
    ) -> Finding:
        """A finding about a series. It lasts to the last point if no end is given."""
        tag = track if isinstance(track, str) else track.tag
        about = self.tracks.get(tag)
        span = self.steps or (0, 0)
        if first_step is None:
            first_step = about.first_step if about is not None and about.first_step is not None else span[0]
        if last_step is None:
            last_step = about.last_step if about is not None and about.last_step is not None else span[1]
        if summary.startswith("the sum of "):  # a sum of components has no tag to begin a sentence with
            summary = f"T{summary[1:]}"
        return Finding(slug, severity, tag, int(first_step), int(max(first_step, last_step)), summary, tuple(evidence))


def window_points(count: int) -> int:
    """The window width in points for a series with `count` points."""
    return int(min(128, max(16, count // 8)))


def _changes(points: Points) -> list[int]:
    at = np.flatnonzero(np.diff(points.values) != 0) + 1
    return [int(step) for step in points.steps[at]] if len(at) <= 100 else []
