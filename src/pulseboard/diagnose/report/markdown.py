"""Reports as Markdown, for issues, pull requests and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pulseboard.core.finding import Finding, Incident, NextCheck, NotChecked, RankedCause, RunReport
from pulseboard.diagnose.report.section import section
from pulseboard.diagnose.report.sentences import (
    cause_sentence,
    evidence_sentences,
    incident_span,
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
    parts += [
        "\n".join(section(report, _MarkdownSection()))
        for report in reports
        if len(reports) == 1 or report.status != "ok"
    ]
    return "\n\n".join(parts) + "\n"


def _table(reports: list[RunReport]) -> Iterator[str]:
    yield "| run | status | last step | findings | likely cause |"
    yield "| --- | --- | ---: | --- | --- |"
    for run, status, steps, found, cause in summary_rows(reports):
        yield f"| {_code(run)} | {_SIGNS[status]} {status_label(status)} | {steps} | {found} | {cause} |"


class _MarkdownSection:
    """The parts of a run's section as lines of Markdown."""

    def head(self, report: RunReport, steps: str) -> Iterator[str]:
        yield f"## {_SIGNS[report.status]} {_code(title_of(report))}: {status_label(report.status)}"
        yield f"\n{steps}, profile `{report.profile}`"

    def nothing_found(self, sentence: str) -> Iterator[str]:
        yield f"\n{sentence}"

    def incident(self, incident: Incident) -> Iterator[str]:
        yield f"\n### {_SIGNS[incident.severity]} {incident.headline}\n"
        yield f"{incident_span(incident).capitalize()}\n"

    def finding(self, finding: Finding, report: RunReport) -> Iterator[str]:
        where = f"{_code(finding.metric)}, steps {finding.first_step:,} to {finding.last_step:,}"
        yield f"- {_SIGNS[finding.severity]} **{finding.slug}** ({where}): {finding.summary}"
        for one in finding.evidence:
            threshold = "" if one.limit is None else f", threshold {one.limit:.4g}"
            yield f"  - {one.what}: {one.value:.4g}{threshold}"

    def causes(self, likely: Sequence[RankedCause], report: RunReport) -> Iterator[str]:
        label, sentence = cause_sentence(likely)
        yield f"\n**{label}**: {sentence}\n"
        for cause in likely:
            yield f"- `{cause.slug}` · {'; '.join(evidence_sentences(cause, report)) or 'no specific evidence'}"

    def next_check(self, check: NextCheck) -> Iterator[str]:
        yield f"\n**Next check**: {check.do} ({check.why})"

    def fixes(self, fixes: Sequence[str]) -> Iterator[str]:
        yield "\n**Fixes**\n"
        yield from (f"- {fix}" for fix in fixes)

    def notes_title(self) -> Iterator[str]:
        yield "\n**Notes**\n"

    def coverage(self, sentence: str) -> Iterator[str]:
        yield f"\n{sentence}"

    def not_checked(self, missing: Sequence[NotChecked]) -> Iterator[str]:
        yield f"\n<details><summary>{len(missing)} checks could not run</summary>\n"
        for one in missing:
            how = f" To enable, add `{one.log}`." if one.log else ""
            yield f"- {one.slug}: {one.because}.{how}"
        yield "\n</details>"


def _code(text: str) -> str:
    """A name as code, whatever characters it contains."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{text.replace('|', chr(92) + '|')}{fence}"
