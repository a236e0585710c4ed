"""The types of a diagnosis: findings, their evidence, likely causes, and the report on a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["info", "warning", "critical"]
Status = Literal["ok", "info", "warning", "critical", "unknown"]

SEVERITIES: tuple[Severity, ...] = ("info", "warning", "critical")
"""From mildest to most severe. Critical: the run is lost or wastes most of its compute. Warning: it costs quality, or
more than a tenth of the time. Info: worth knowing."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One number that supports a finding, and the threshold it is compared with."""

    metric: str  # the tag it was read from
    what: str  # what the number is, as a phrase
    value: float
    limit: float | None = None
    step: int | None = None
    on_curve: bool = False  # whether the value and the limit are values of the metric, which a chart of it can show

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON report."""
        return {
            "metric": self.metric,
            "what": self.what,
            "value": self.value,
            "limit": self.limit,
            "step": self.step,
            "on_curve": self.on_curve,
        }


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong with a run, over a range of steps. The slug completes the sentence "this run has ..."."""

    slug: str
    severity: Severity
    metric: str  # the tag it shows up in
    first_step: int
    last_step: int
    summary: str  # one sentence with the numbers
    evidence: tuple[Evidence, ...] = ()
    causes: tuple[str, ...] = ()  # slugs, most likely first
    checks: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON report."""
        return {
            "slug": self.slug,
            "severity": self.severity,
            "metric": self.metric,
            "first_step": self.first_step,
            "last_step": self.last_step,
            "summary": self.summary,
            "evidence": [one.to_dict() for one in self.evidence],
            "causes": list(self.causes),
            "checks": list(self.checks),
            "fixes": list(self.fixes),
        }


@dataclass(frozen=True, slots=True)
class RankedCause:
    """A cause that could explain the findings, and its probability among all that could."""

    slug: str
    probability: float
    because: tuple[str, ...] = ()  # findings that support it
    against: tuple[str, ...] = ()  # expected findings that are absent, and findings that contradict it
    fixes: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()  # what else supports it, in words
    alike: tuple[str, ...] = ()  # causes that curves cannot tell from it; the probability is that of all of them

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON report."""
        return {
            "slug": self.slug,
            "probability": self.probability,
            "because": list(self.because),
            "against": list(self.against),
            "fixes": list(self.fixes),
            "signs": list(self.signs),
            "alike": list(self.alike),
        }


@dataclass(frozen=True, slots=True)
class NextCheck:
    """The check that would best separate the possible causes."""

    do: str
    why: str

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON report."""
        return {"do": self.do, "why": self.why}


@dataclass(frozen=True, slots=True)
class Cost:
    """What a problem has cost so far."""

    what: str
    value: float

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON report."""
        return {"what": self.what, "value": self.value}


@dataclass(frozen=True, slots=True)
class Incident:
    """One problem: the findings that belong together, under one headline."""

    id: str  # stable while the incident lasts: the leading finding and its first step
    headline: str
    severity: Severity
    first_step: int
    last_step: int
    open: bool  # whether it lasts to the end of the run
    cost: Cost
    findings: tuple[int, ...]  # indices into the report's findings, the leading one first
    causes: tuple[RankedCause, ...] = ()
    next_check: NextCheck | None = None
    fixes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON report."""
        return {
            "id": self.id,
            "headline": self.headline,
            "severity": self.severity,
            "first_step": self.first_step,
            "last_step": self.last_step,
            "open": self.open,
            "cost": self.cost.to_dict(),
            "findings": list(self.findings),
            "causes": [cause.to_dict() for cause in self.causes],
            "next_check": None if self.next_check is None else self.next_check.to_dict(),
            "fixes": list(self.fixes),
        }


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many of the checks could run, and what to log to enable more."""

    ran: int
    of: int
    enable: tuple[tuple[str, int], ...] = ()  # (line of code, checks it enables), most first

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON report."""
        return {
            "ran": self.ran,
            "of": self.of,
            "enable": [{"log": line, "checks": checks} for line, checks in self.enable],
        }


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A check that could not run, and what to log to enable it."""

    slug: str
    because: str
    log: str  # a line of code; empty if logging would not help

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON report."""
        return {"slug": self.slug, "because": self.because, "log": self.log}


@dataclass(frozen=True, slots=True)
class RunReport:
    """The diagnosis of one run."""

    run: str
    path: str
    steps: tuple[int, int] | None  # first and last; None if the run has no points
    profile: str
    roles: dict[str, str]  # role -> tag
    findings: tuple[Finding, ...] = ()  # most severe first
    causes: tuple[RankedCause, ...] = ()  # at most three
    next_check: NextCheck | None = None
    not_checked: tuple[NotChecked, ...] = ()
    doubtful: tuple[str, ...] = ()  # roles that may have been read wrongly, as sentences
    incidents: tuple[Incident, ...] = ()  # most severe first
    coverage: Coverage = Coverage(0, 0)
    judged: bool = True  # False: too little is logged to say that a run is fine
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    readings: tuple[dict[str, Any], ...] = ()  # how each tag was read
    unread: tuple[str, ...] = ()  # tags that were not read
    # The curves behind the findings, tag -> (steps, values), thinned for drawing. Not part of the JSON report.
    curves: dict[str, tuple[list[int], list[float]]] = field(default_factory=dict)

    @property
    def status(self) -> Status:
        """The highest severity among the findings; "unknown" if there is none and too little could be checked."""
        worst = max((finding.severity for finding in self.findings), key=SEVERITIES.index, default=None)
        if worst in ("warning", "critical") or self.judged:
            return worst or "ok"
        return "unknown"

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON report (`pulseboard diagnose --json`)."""
        return {
            "run": self.run,
            "path": self.path,
            "status": self.status,
            "steps": None if self.steps is None else list(self.steps),
            "profile": self.profile,
            "roles": dict(self.roles),
            "doubtful": list(self.doubtful),
            "findings": [finding.to_dict() for finding in self.findings],
            "causes": [cause.to_dict() for cause in self.causes],
            "next_check": None if self.next_check is None else self.next_check.to_dict(),
            "not_checked": [one.to_dict() for one in self.not_checked],
            "coverage": self.coverage.to_dict(),
            "incidents": [incident.to_dict() for incident in self.incidents],
            "facts": dict(self.facts),
            "readings": [dict(reading) for reading in self.readings],
            "unread": list(self.unread),
        }


def report_dict(reports: Iterable[RunReport]) -> dict[str, Any]:
    """The JSON report on several runs. The command, the page, CI and other programs share this schema."""
    return {"schema": 2, "runs": [report.to_dict() for report in reports]}
