"""Reports as Markdown, for issues, pull requests and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pulseboard.core.finding import RunReport
from pulseboard.diagnose.causes import all_causes
from pulseboard.diagnose.report.text import summary_rows, title_of

_SIGNS = {"critical": "🔴", "warning": "🟠", "info": "🔵", "ok": "🟢"}


def as_markdown(reports: Iterable[RunReport]) -> str:
    """A section a run; of several, a table first."""
    reports = list(reports)
    parts = ["# Diagnosis"]
    if len(reports) > 1:
        parts.append("\n".join(_table(reports)))
    parts += ["\n".join(_section(report)) for report in reports if len(reports) == 1 or report.status != "ok"]
    return "\n\n".join(parts) + "\n"


def _table(reports: list[RunReport]) -> Iterator[str]:
    yield "| run | status | last step | findings | likeliest cause |"
    yield "| --- | --- | ---: | --- | --- |"
    for run, status, steps, found, cause in summary_rows(reports):
        yield f"| {_code(run)} | {_SIGNS[status]} {status} | {steps} | {found} | {cause} |"


def _section(report: RunReport) -> Iterator[str]:
    yield f"## {_SIGNS[report.status]} {_code(title_of(report))}: {report.status}"
    steps = "no points" if report.steps is None else f"steps {report.steps[0]:,} to {report.steps[1]:,}"
    yield f"\n{steps}, profile `{report.profile}`\n"
    if not report.findings:
        yield "Nothing wrong was found." if report.steps else "There is nothing to look at yet."
    for finding in report.findings:
        span = f"{finding.first_step:,} to {finding.last_step:,}"
        where = f"{_code(finding.metric)}, steps {span}"
        yield f"- {_SIGNS[finding.severity]} **{finding.slug}** ({where}): {finding.summary}"
        for one in finding.evidence:
            limit = "" if one.limit is None else f", limit {one.limit:.4g}"
            yield f"  - {one.what}: {one.value:.4g}{limit}"
    if report.causes:
        yield "\n**Likely cause**\n"
        for cause in report.causes:
            known = all_causes().get(cause.slug)
            because = f", because of {', '.join(cause.because)}" if cause.because else ""
            yield f"- {100 * cause.probability:.0f} % {known.title if known else cause.slug} (`{cause.slug}`){because}"
        yield "\n**What to change**\n"
        yield from (f"- {fix}" for fix in report.causes[0].fixes)
    if report.next_check is not None:
        yield f"\n**Next check**: {report.next_check.do} ({report.next_check.why})"
    if report.not_checked:
        yield f"\n<details><summary>{len(report.not_checked)} checks had no data</summary>\n"
        for missing in report.not_checked:
            how = f" Log it with `{missing.log}`." if missing.log else ""
            yield f"- {missing.slug}: {missing.because}.{how}"
        yield "\n</details>"


def _code(text: str) -> str:
    """A name as code, whatever signs it has."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{text.replace('|', chr(92) + '|')}{fence}"
