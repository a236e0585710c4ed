"""Reports as one self-contained HTML file, with style and curves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from pulseboard.core.finding import Finding, Incident, NextCheck, NotChecked, RankedCause, RunReport
from pulseboard.diagnose.phrases import percent
from pulseboard.diagnose.report.section import section
from pulseboard.diagnose.report.sentences import (
    cause_sentence,
    cause_title,
    evidence_sentences,
    incident_span,
    status_label,
)
from pulseboard.diagnose.report.text import summary_rows, title_of

_STYLE = """
:root { color-scheme: light dark; --back: #fff; --card: #f6f7f9; --text: #1c2126; --dim: #59636e; --line: #d4d9df;
  --critical: #b3261e; --warning: #8a5300; --info: #1e5fa8; --ok: #1a7440; }
@media (prefers-color-scheme: dark) { :root { --back: #14171a; --card: #1d2226; --text: #e6e9ec; --dim: #a3adb8;
  --line: #343b42; --critical: #ff8a80; --warning: #f2b457; --info: #82b7f5; --ok: #6fd39a; } }
body { font: 15px/1.5 system-ui, sans-serif; background: var(--back); color: var(--text); margin: 2rem auto;
  max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .3rem; overflow-wrap: anywhere; }
.dim, small { color: var(--dim); } code { font-size: .92em; overflow-wrap: anywhere; }
.critical { color: var(--critical); } .warning { color: var(--warning); } .info { color: var(--info); }
.ok { color: var(--ok); } .unknown { color: var(--dim); }
article { background: var(--card); border-left: 3px solid currentColor; border-radius: 4px; margin: .6rem 0;
  padding: .5rem .9rem; } article > * { color: var(--text); } article > b:first-child { color: inherit; }
svg { display: block; width: 100%; height: 70px; margin-top: .3rem; } table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
.bar { display: inline-block; height: .6em; background: var(--info); border-radius: 2px; margin-right: .5em; }
"""


def as_html(reports: Iterable[RunReport], *, title: str = "Diagnosis") -> str:
    """The whole page."""
    reports = list(reports)
    body = [f"<h1>{escape(title)}</h1>"]
    if len(reports) > 1:
        body += _table(reports)
    for report in reports:
        if len(reports) == 1 or report.status != "ok":
            body += section(report, _HtmlSection())
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    return (
        f"<!doctype html><html lang=en><head>{head}<style>{_STYLE}</style></head><body>{''.join(body)}</body></html>\n"
    )


def _table(reports: list[RunReport]) -> Iterator[str]:
    yield "<table><tr><th>run<th>status<th>last step<th>findings<th>likely cause</tr>"
    for run, status, steps, found, cause in summary_rows(reports):
        label = status_label(status)
        yield f"<tr><td>{escape(run)}<td class={status}>{label}<td>{steps}<td>{escape(found)}<td>{escape(cause)}</tr>"
    yield "</table>"


class _HtmlSection:
    """The parts of a run's section as HTML."""

    def head(self, report: RunReport, steps: str) -> Iterator[str]:
        yield f"<h2><span class={report.status}>{status_label(report.status)}</span> {escape(title_of(report))}</h2>"
        yield f"<small>{steps} · profile {escape(report.profile)}</small>"

    def nothing_found(self, sentence: str) -> Iterator[str]:
        yield f"<p>{escape(sentence)}</p>"

    def incident(self, incident: Incident) -> Iterator[str]:
        yield f"<h3 class={incident.severity}>{escape(incident.headline)}</h3><small>{incident_span(incident)}</small>"

    def finding(self, finding: Finding, report: RunReport) -> Iterator[str]:
        span = f"steps {finding.first_step:,} to {finding.last_step:,}"
        yield f"<article class={finding.severity}><b>{finding.slug}</b> <small>{span}</small>"
        yield f"<div>{escape(finding.summary)}</div>{_curve(finding, report)}</article>"

    def causes(self, likely: Sequence[RankedCause], report: RunReport) -> Iterator[str]:
        yield f"<p><b>{cause_sentence(likely)[0]}</b></p><ul>"
        for cause in likely:
            bar = f'<span class=bar style="width:{cause.probability * 6:.1f}em"></span>'
            why = "; ".join(evidence_sentences(cause, report))
            yield f"<li>{bar}{percent(cause.probability)} {escape(cause_title(cause))} "
            yield f"<small>{escape(cause.slug)}{escape(f' · {why}' if why else '')}</small></li>"
        yield "</ul>"

    def next_check(self, check: NextCheck) -> Iterator[str]:
        yield f"<p><b>Next check:</b> {escape(check.do)} <small>{escape(check.why)}</small></p>"

    def fixes(self, fixes: Sequence[str]) -> Iterator[str]:
        yield "<p><b>Fixes</b></p><ul>" + "".join(f"<li>{escape(fix)}</li>" for fix in fixes) + "</ul>"

    def notes_title(self) -> Iterator[str]:
        yield "<h3>Notes</h3>"

    def coverage(self, sentence: str) -> Iterator[str]:
        yield f"<p class=dim>{sentence}</p>"

    def not_checked(self, missing: Sequence[NotChecked]) -> Iterator[str]:
        yield f"<details><summary>{len(missing)} checks could not run</summary><ul>"
        for one in missing:
            how = f" To enable, add <code>{escape(one.log)}</code>" if one.log else ""
            yield f"<li>{one.slug}: {escape(one.because)}.{how}</li>"
        yield "</ul></details>"


def _curve(finding: Finding, report: RunReport) -> str:
    """The curve over the whole run, with the finding's steps shaded."""
    steps, values = report.curves.get(finding.metric, ([], []))
    points = [(step, value) for step, value in zip(steps, values, strict=True) if math.isfinite(value)]
    if len(points) < 2 or points[-1][0] <= points[0][0]:
        return ""
    first, last = points[0][0], points[-1][0]
    low, high = min(value for _, value in points), max(value for _, value in points)

    def x(step: float) -> float:
        return 600 * (min(max(step, first), last) - first) / (last - first)

    def y(value: float) -> float:
        return 66 - 62 * (value - low) / (high - low) if high > low else 35

    path = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in points)
    left, right = x(finding.first_step), x(finding.last_step)
    wide = max(2.0, right - left)
    shade = f'<rect x="{left:.1f}" y="0" width="{wide:.1f}" height="70" fill="currentColor" opacity=".15"/>'
    stroke = 'fill="none" stroke="currentColor" stroke-width="1.5" vector-effect="non-scaling-stroke"'
    line = f'<polyline points="{path}" {stroke}/>'
    label = escape(f"{finding.metric}, from {low:.4g} to {high:.4g}")
    frame = f'<svg viewBox="0 0 600 70" preserveAspectRatio="none" role="img" aria-label="{label}">'
    return f'{frame}<g class="{finding.severity}">{shade}{line}</g></svg><small>{label}</small>'
