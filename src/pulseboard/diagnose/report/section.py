"""The parts of a run's section in a report, in order. Markdown and HTML write the same parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from pulseboard.core.finding import Finding, Incident, NextCheck, NotChecked, RankedCause, RunReport
from pulseboard.diagnose.report.sentences import coverage_sentence, likely_causes, notes_of, nothing_found


class SectionWriter(Protocol):
    """Writes each part in one format."""

    def head(self, report: RunReport, steps: str) -> Iterator[str]: ...
    def nothing_found(self, sentence: str) -> Iterator[str]: ...
    def incident(self, incident: Incident) -> Iterator[str]: ...
    def finding(self, finding: Finding, report: RunReport) -> Iterator[str]: ...
    def causes(self, likely: Sequence[RankedCause], report: RunReport) -> Iterator[str]: ...
    def next_check(self, check: NextCheck) -> Iterator[str]: ...
    def fixes(self, fixes: Sequence[str]) -> Iterator[str]: ...
    def notes_title(self) -> Iterator[str]: ...
    def coverage(self, sentence: str) -> Iterator[str]: ...
    def not_checked(self, missing: Sequence[NotChecked]) -> Iterator[str]: ...


def section(report: RunReport, write: SectionWriter) -> Iterator[str]:
    """One run: incidents with their findings, causes and fixes, then notes, then what was checked."""
    steps = "no points" if report.steps is None else f"steps {report.steps[0]:,} to {report.steps[1]:,}"
    yield from write.head(report, steps)
    if sentence := nothing_found(report):
        yield from write.nothing_found(sentence)
    for incident in report.incidents:
        yield from _incident(incident, report, write)
    notes = notes_of(report)
    if notes:
        yield from write.notes_title()
    for finding in notes:
        yield from write.finding(finding, report)
    if sentence := coverage_sentence(report):
        yield from write.coverage(sentence)
    if report.not_checked:
        yield from write.not_checked(report.not_checked)


def _incident(incident: Incident, report: RunReport, write: SectionWriter) -> Iterator[str]:
    yield from write.incident(incident)
    for i in incident.findings:
        yield from write.finding(report.findings[i], report)
    if likely := likely_causes(incident.causes):
        yield from write.causes(likely, report)
    if incident.next_check is not None:
        yield from write.next_check(incident.next_check)
    if incident.fixes:
        yield from write.fixes(incident.fixes)
