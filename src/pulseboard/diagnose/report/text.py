"""A report as lines of text. Each line is made of pieces with a style, for terminals with color."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import NamedTuple

from pulseboard.core.finding import Finding, Incident, NotChecked, RankedCause, RunReport
from pulseboard.diagnose.report.sentences import (
    SIGNS,
    STATUS_ORDER,
    cause_sentence,
    coverage_sentence,
    evidence_sentences,
    incident_span,
    likely_causes,
    lines_to_add,
    notes_of,
    nothing_found,
    status_label,
)
from pulseboard.rundir import layout

WIDTH = 100
_BARS = "▁▂▃▄▅▆▇█"
_SPARK_WIDTH = 60
_MOST_FINDINGS = 8


class Piece(NamedTuple):
    """Some text with a style: a status, "title", "dim", "strong", "bad" or nothing."""

    text: str
    style: str = ""


Line = tuple[Piece, ...]


def as_text(reports: Iterable[RunReport], *, width: int = WIDTH, everything: bool = False) -> str:
    """Reports as plain text."""
    lines = lines_of(list(reports), width=width, everything=everything)
    return "\n".join("".join(piece.text for piece in line).rstrip() for line in lines) + "\n"


def lines_of(reports: Sequence[RunReport], *, width: int = WIDTH, everything: bool = False) -> Iterator[Line]:
    """Reports line by line. What to log to enable more checks is listed for a single run, or with `everything`."""
    for report in reports:
        yield from report_lines(report, width=width, everything=everything, missing=len(reports) == 1)
        yield ()
    if any(report.incidents for report in reports):
        yield (Piece("More about a finding: pulseboard explain NAME", "dim"),)
        yield ()


def title_of(report: RunReport) -> str:
    """The run's name, or its directory's name if the path is the run itself."""
    return run_title(report.run, report.path)


def run_title(run: str, path: str) -> str:
    """A run's name, or its directory's name if the path is the run itself."""
    if run.endswith("/."):
        return run.removesuffix("/.")
    return run if run != "." else PurePath(path.removesuffix(f"/{layout.EVENTS_DIRECTORY}")).name or run


def report_lines(
    report: RunReport, *, width: int = WIDTH, everything: bool = False, missing: bool = True
) -> Iterator[Line]:
    """One run: its incidents with causes and fixes, then notes, then how much could be checked."""
    steps = "no points" if report.steps is None else f"steps {report.steps[0]:,} to {report.steps[1]:,}"
    yield (
        Piece(f"{SIGNS[report.status]} {title_of(report)}", report.status),
        Piece(f"  {status_label(report.status)}  ", report.status),
        Piece(f"{steps} · profile {report.profile}", "dim"),
    )
    if sentence := nothing_found(report):
        yield from _wrapped(sentence, width=width, first="  ")
    for incident in report.incidents:
        yield ()
        yield from _incident_lines(incident, report, width=width, everything=everything)
    yield from _notes_lines(report, width=width, everything=everything)
    yield from _coverage_lines(report, width=width, everything=everything, missing=missing)
    if report.doubtful:
        yield ()
    for doubt in report.doubtful:
        yield from _wrapped(doubt, width=width, first="  Note: ", style="dim")
    if everything and report.roles:
        yield ()
        yield (Piece("  Read as", "title"),)
        widest = max(len(role) for role in report.roles)
        for role, tag in report.roles.items():
            yield (Piece(f"    {role:<{widest}}  ", "dim"), Piece(tag, "dim"))


def _incident_lines(incident: Incident, report: RunReport, *, width: int, everything: bool) -> Iterator[Line]:
    lead, *others = (report.findings[i] for i in incident.findings)
    yield from _wrapped(incident.headline, width=width, first=f"  {SIGNS[incident.severity]} ", style=incident.severity)
    yield (Piece(f"    {lead.slug} · {incident_span(incident)}", "dim"),)
    yield from _wrapped(lead.summary, width=width, first="    ")
    yield from _curve_lines(lead, report, width=width)
    shown = others if everything else others[:_MOST_FINDINGS]
    for finding in shown:
        first = f"    {SIGNS[finding.severity]} "
        yield from _wrapped(f"{finding.slug}: {finding.summary}", width=width, first=first, style=finding.severity)
    yield from _more(len(others) - len(shown))
    yield from _cause_lines(incident.causes, report, width=width, everything=everything)
    if incident.next_check is not None:
        check = incident.next_check
        yield from _wrapped(check.do, width=width, first="    Next check: ")
        yield from _wrapped(f"({check.why})", width=width, first="      ", style="dim")
    for i, fix in enumerate(incident.fixes):
        yield from _wrapped(fix, width=width, first="    Fixes: - " if i == 0 else "           - ")


def _cause_lines(causes: Sequence[RankedCause], report: RunReport, *, width: int, everything: bool) -> Iterator[Line]:
    likely = likely_causes(causes)
    if not likely:
        return
    label, sentence = cause_sentence(likely)
    yield from _wrapped(sentence, width=width, first=f"    {label}: ", style="strong")
    for cause in likely if everything else likely[:1]:
        sentences = evidence_sentences(cause, report)
        if sentences:
            yield from _wrapped(f"{cause.slug} · {'; '.join(sentences)}", width=width, first="      ", style="dim")


def _notes_lines(report: RunReport, *, width: int, everything: bool) -> Iterator[Line]:
    notes = notes_of(report)
    if notes:
        yield ()
    shown = notes if everything else notes[:_MOST_FINDINGS]
    for finding in shown:
        first = f"  {SIGNS[finding.severity]} "
        yield from _wrapped(f"{finding.slug}: {finding.summary}", width=width, first=first, style=finding.severity)
    yield from _more(len(notes) - len(shown))


def _more(left: int) -> Iterator[Line]:
    if left > 0:
        yield (Piece(f"  … and {left} more; --all shows them.", "dim"),)


def summary_rows(reports: Sequence[RunReport]) -> list[tuple[str, str, str, str, str]]:
    """(run, status, last step, most severe findings, likely cause) of each run, the worst first."""
    rows: list[tuple[str, str, str, str, str]] = []
    for report in sorted(reports, key=lambda report: STATUS_ORDER.index(report.status)):
        notes_too = report.status == "info"
        slugs = list(dict.fromkeys(f.slug for f in report.findings if f.severity != "info" or notes_too))
        found = ", ".join(slugs[:3]) + (f" +{len(slugs) - 3}" if len(slugs) > 3 else "")
        # Without an incident there is nothing to explain; the JSON report has the ranking all the same.
        causes = report.causes if report.incidents else ()
        cause = f"{causes[0].slug} {100 * causes[0].probability:.0f} %" if causes else ""
        steps = "" if report.steps is None else f"{report.steps[1]:,}"
        rows.append((title_of(report), report.status, steps, found, cause))
    return rows


def sparkline(finding: Finding, report: RunReport, *, width: int = _SPARK_WIDTH) -> Line:
    """The finding's curve over the whole run, with the steps it is about in a different style."""
    steps, values = report.curves.get(finding.metric, ([], []))
    finite = [value for value in values if math.isfinite(value)]
    if len(finite) < 4:
        return ()
    beyond = _cells_beyond(finding, steps, width=width)
    n = min(width - beyond, len(values))
    low, high = min(finite), max(finite)
    pieces: list[Piece] = []
    for i in range(n):
        part = range(i * len(values) // n, max(i * len(values) // n + 1, (i + 1) * len(values) // n))
        value = sum(values[j] for j in part) / len(part)
        level = int((value - low) / (high - low) * (len(_BARS) - 1)) if high > low else 3
        inside = steps[part[-1]] >= finding.first_step and steps[part[0]] <= finding.last_step
        pieces.append(Piece(_BARS[level], "bad" if inside else "dim"))
    return (*pieces, *[Piece("×", "bad")] * beyond)


def _cells_beyond(finding: Finding, steps: Sequence[int], *, width: int) -> int:
    """How many cells come after the last finite point: NaN has no bars."""
    if finding.last_step <= steps[-1] or finding.last_step <= steps[0]:
        return 0
    share = (finding.last_step - steps[-1]) / (finding.last_step - steps[0])
    if share < 1 / len(steps):  # no more than from one point to the next
        return 0
    return min(width - 1, max(1, round(share * min(width, 2 * len(steps)))))


def _curve_lines(finding: Finding, report: RunReport, *, width: int) -> Iterator[Line]:
    room = width - 4 - len(finding.metric) - 2
    on_one_line = room >= 40
    drawn = sparkline(finding, report, width=min(_SPARK_WIDTH, room if on_one_line else width - 4))
    if not drawn:
        return
    yield (Piece("    "), *drawn, Piece(f"  {finding.metric}" if on_one_line else "", "dim"))
    marks = "".join("▔" if piece.style == "bad" else " " for piece in drawn)
    if set(marks) == {" ", "▔"}:
        yield (Piece("    "), Piece(marks.rstrip(), "bad"))


def _coverage_lines(report: RunReport, *, width: int, everything: bool, missing: bool) -> Iterator[Line]:
    sentence = coverage_sentence(report)
    if not sentence:
        return
    lines = lines_to_add(report) if missing and not everything else []
    yield ()
    yield (Piece(f"  {sentence}{' To enable more, add:' if lines else ''}", "dim"),)
    for line, checks in lines:
        yield from _wrapped(f"{line}  ({checks})", width=width, first="    ", style="dim")
    if everything and report.not_checked:
        yield (Piece("  Not checked", "title"),)
        for one in report.not_checked:
            yield from _wrapped(_not_checked(one), width=width, first="    - ", style="dim")


def _not_checked(one: NotChecked) -> str:
    return f"{one.slug}: {one.because}." + (f" To enable: {one.log}" if one.log else "")


def _wrapped(text: str, *, width: int, first: str, style: str = "") -> Iterator[Line]:
    indent = " " * len(first)
    whole = text.replace(" %", "\u00a0%")  # a number stays with its unit
    for i, line in enumerate(textwrap.wrap(whole, max(20, width - len(first)), break_on_hyphens=False) or [""]):
        yield (Piece(first if i == 0 else indent, style), Piece(line.replace("\u00a0%", " %"), style))
