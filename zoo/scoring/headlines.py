"""Headlines: what a report says first, one line for each problem.

A report with incidents has one headline per incident; a report without them has one per finding.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pulseboard.core.finding import RunReport

ALARMS = ("warning", "critical")


@dataclass(frozen=True)
class Headline:
    """One problem that a report names."""

    slug: str  # of its first finding
    severity: str
    text: str
    slugs: tuple[str, ...]  # of all findings that count as alarms, and of the first
    causes: tuple[str, ...] = ()  # most likely first

    @property
    def alarms(self) -> bool:
        """Whether it is a warning or worse."""
        return self.severity in ALARMS

    def accepted(self, slugs: frozenset[str] | set[str]) -> bool:
        """Whether one of its findings is among these."""
        return not slugs.isdisjoint(self.slugs)


def headlines(report: RunReport) -> list[Headline]:
    """The headlines of a report, most severe first."""
    incidents = getattr(report, "incidents", ())
    if not incidents and any(finding.severity in ALARMS for finding in report.findings):
        causes = tuple(cause.slug for cause in report.causes)
        return [Headline(f.slug, f.severity, f.summary, (f.slug,), causes) for f in report.findings]
    return [_of_incident(incident, report) for incident in incidents]


def first_causes(report: RunReport) -> list[str]:
    """The causes of the first alarm if incidents carry causes, otherwise those of the whole report; best first."""
    for headline in headlines(report):
        if headline.alarms and headline.causes:
            return list(headline.causes)
    return [cause.slug for cause in report.causes]


def checks_run(report: RunReport) -> int:
    """The number of checks that could run."""
    coverage = getattr(report, "coverage", None)
    if coverage is not None:
        return int(_field(coverage, "ran"))
    from pulseboard.diagnose.detector import all_detectors

    return len(all_detectors().keys() - {one.slug for one in report.not_checked})


def _of_incident(incident: Any, report: RunReport) -> Headline:
    found = [report.findings[index] for index in _field(incident, "findings")]
    slugs = [f.slug for i, f in enumerate(found) if i == 0 or f.severity in ALARMS]
    causes = tuple(cause if isinstance(cause, str) else _field(cause, "slug") for cause in _field(incident, "causes"))
    slug = found[0].slug if found else "?"
    return Headline(slug, _field(incident, "severity"), _field(incident, "headline"), tuple(slugs), causes)


def _field(thing: Any, name: str) -> Any:
    return thing[name] if isinstance(thing, Mapping) else getattr(thing, name)
