"""The words of a diagnosis: what is wrong with a run, with which evidence, and why probably."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["info", "warning", "critical"]
Status = Literal["ok", "info", "warning", "critical"]

SEVERITIES: tuple[Severity, ...] = ("info", "warning", "critical")
"""From the mildest on. Critical: the run is lost or wastes most of its compute; warning: it will cost quality or more
than a tenth of the time; info: worth knowing."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One number that speaks for a finding, and the limit it is held against."""

    metric: str  # the tag it was read from
    what: str  # what the number is, in words
    value: float
    limit: float | None = None
    step: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """As the JSON report has it."""
        return {"metric": self.metric, "what": self.what, "value": self.value, "limit": self.limit, "step": self.step}


@dataclass(frozen=True, slots=True)
class Finding:
    """One episode of one thing that is wrong. The slug finishes the sentence "this run has ..."."""

    slug: str
    severity: Severity
    metric: str  # the tag it shows in
    first_step: int
    last_step: int
    summary: str  # one sentence with the numbers
    evidence: tuple[Evidence, ...] = ()
    causes: tuple[str, ...] = ()  # slugs, the likeliest first
    checks: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As the JSON report has it."""
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
    """A cause that would explain the findings, and how probable it is among those that would."""

    slug: str
    probability: float
    because: tuple[str, ...] = ()  # findings that speak for it
    against: tuple[str, ...] = ()  # findings that it would bring and that are absent, or that contradict it
    fixes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As the JSON report has it."""
        return {
            "slug": self.slug,
            "probability": self.probability,
            "because": list(self.because),
            "against": list(self.against),
            "fixes": list(self.fixes),
        }


@dataclass(frozen=True, slots=True)
class NextCheck:
    """The check that would tell most about which cause it is."""

    do: str
    why: str

    def to_dict(self) -> dict[str, Any]:
        """As the JSON report has it."""
        return {"do": self.do, "why": self.why}


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A finding that could not be looked for, and what to log so that it can be."""

    slug: str
    because: str
    log: str  # a line of code; empty where logging would not help

    def to_dict(self) -> dict[str, Any]:
        """As the JSON report has it."""
        return {"slug": self.slug, "because": self.because, "log": self.log}


@dataclass(frozen=True, slots=True)
class RunReport:
    """What diagnosis says of one run."""

    run: str
    path: str
    steps: tuple[int, int] | None  # first and last; None where the run has no points
    profile: str
    roles: dict[str, str]  # role -> tag
    findings: tuple[Finding, ...] = ()  # the gravest first
    causes: tuple[RankedCause, ...] = ()  # at most three
    next_check: NextCheck | None = None
    not_checked: tuple[NotChecked, ...] = ()
    doubtful: tuple[str, ...] = ()  # readings of names that may be wrong, in words
    # The curves that findings are about, tag -> (steps, values), thinned for drawing; not part of the JSON report.
    curves: dict[str, tuple[list[int], list[float]]] = field(default_factory=dict)

    @property
    def status(self) -> Status:
        """The gravest severity among the findings."""
        return max((finding.severity for finding in self.findings), key=SEVERITIES.index, default="ok")

    def to_dict(self) -> dict[str, Any]:
        """As the JSON report has it (`pulseboard diagnose --json`)."""
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
        }


def report_dict(reports: Iterable[RunReport]) -> dict[str, Any]:
    """The JSON report of several runs: one schema for the command, the page, CI and programs."""
    return {"schema": 1, "runs": [report.to_dict() for report in reports]}
