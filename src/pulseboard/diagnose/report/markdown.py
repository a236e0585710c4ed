"""Reports as Markdown, for issues, pull requests and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pulseboard.core.finding import Finding, Incident, RunReport
from pulseboard.diagnose.report.sentences import (
    cause_sentence,
    coverage_sentence,
    evidence_sentences,
    incident_span,
    likely_causes,
    notes_of,
    nothing_found,
    status_label,
)
from pulseboard.diagnose.report.text import summary_rows, title_of

_SIGNS = {"critical": "🔴", "warning": "🟠", "info": "🔵", "unknown": "⚪", "ok": "🟢"}


def as_markdown(reports: Iterable[RunReport]) -> str:
    """One section per run; with several runs, a table first."""
    reports = list(reports)
    parts = ["# Diagnosis"]
    if len(reports) > 1:
        parts.append("\n".join(_table(reports)))
    parts += ["\n".join(_section(report)) for report in reports if len(reports) == 1 or report.status != "ok"]
    return "\n\n".join(parts) + "\n"


def _table(reports: list[RunReport]) -> Iterator[str]:
    yield "| run | status | last step | findings | likely cause |"
    yield "| --- | --- | ---: | --- | --- |"
    for run, status, steps, found, cause in summary_rows(reports):
        yield f"| {_code(run)} | {_SIGNS[status]} {status_label(status)} | {steps} | {found} | {cause} |"


def _section(report: RunReport) -> Iterator[str]:
    yield f"## {_SIGNS[report.status]} {_code(title_of(report))}: {status_label(report.status)}"
    steps = "no points" if report.steps is None else f"steps {report.steps[0]:,} to {report.steps[1]:,}"
    yield f"\n{steps}, profile `{report.profile}`"
    if sentence := nothing_found(report):
        yield f"\n{sentence}"
    for incident in report.incidents:
        yield from _incident(incident, report)
    notes = notes_of(report)
    if notes:
        yield "\n**Notes**\n"
    for finding in notes:
        yield from _finding(finding)
    if sentence := coverage_sentence(report):
        yield f"\n{sentence}"
    if report.not_checked:
        yield f"\n<details><summary>{len(report.not_checked)} checks could not run</summary>\n"
        for missing in report.not_checked:
            how = f" To enable, add `{missing.log}`." if missing.log else ""
            yield f"- {missing.slug}: {missing.because}.{how}"
        yield "\n</details>"


def _incident(incident: Incident, report: RunReport) -> Iterator[str]:
    yield f"\n### {_SIGNS[incident.severity]} {incident.headline}\n"
    yield f"{incident_span(incident).capitalize()}\n"
    for i in incident.findings:
        yield from _finding(report.findings[i])
    likely = likely_causes(incident.causes)
    if likely:
        label, sentence = cause_sentence(likely)
        yield f"\n**{label}**: {sentence}\n"
        for cause in likely:
            yield f"- `{cause.slug}`: {'; '.join(evidence_sentences(cause, report)) or 'no specific evidence'}"
    if incident.next_check is not None:
        yield f"\n**Next check**: {incident.next_check.do} ({incident.next_check.why})"
    if incident.fixes:
        yield "\n**Fixes**\n"
        yield from (f"- {fix}" for fix in incident.fixes)


def _finding(finding: Finding) -> Iterator[str]:
    where = f"{_code(finding.metric)}, steps {finding.first_step:,} to {finding.last_step:,}"
    yield f"- {_SIGNS[finding.severity]} **{finding.slug}** ({where}): {finding.summary}"
    for one in finding.evidence:
        threshold = "" if one.limit is None else f", threshold {one.limit:.4g}"
        yield f"  - {one.what}: {one.value:.4g}{threshold}"


def _code(text: str) -> str:
    """A name as code, whatever characters it contains."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{text.replace('|', chr(92) + '|')}{fence}"
