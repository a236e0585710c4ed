"""A report in lines of text. Each line is made of pieces with a style, for those who have colours."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import NamedTuple

from pulseboard.core.finding import Finding, NotChecked, RankedCause, RunReport
from pulseboard.diagnose.causes import all_causes
from pulseboard.files import layout

WIDTH = 100
_BARS = "▁▂▃▄▅▆▇█"
_SPARK_WIDTH = 60
_MOST_FINDINGS = 8
_SIGNS = {"critical": "✖", "warning": "▲", "info": "•", "ok": "✔"}

# Findings that need what most trainings do not have: told in one line together, not one by one.
_SPECIAL = {
    "experts": ("moe-",),
    "a target network or masks": (
        "ema-",
        "mask-",
        "prediction-",
        "representation-",
        "target-gradient",
        "relative-loss",
        "hierarchy-",
    ),
    "noise levels": ("quantile-",),
    "GPUs": ("gpu-", "sol-", "oom-"),
    "several ranks": ("rank-",),
    "mixed precision": ("loss-scale", "steps-skipped"),
    "reinforcement learning": ("return-",),
}
# Causes that are hardly likely are left to the JSON report.
_LEAST_PROBABLE = 0.05
_MOST_ADVICE = 3


class Piece(NamedTuple):
    """A stretch of text: `style` is a severity, "title", "dim", "strong", "bad" or nothing."""

    text: str
    style: str = ""


Line = tuple[Piece, ...]


def as_text(reports: Iterable[RunReport], *, width: int = WIDTH, everything: bool = False) -> str:
    """Reports as plain text."""
    lines = lines_of(list(reports), width=width, everything=everything)
    return "\n".join("".join(piece.text for piece in line).rstrip() for line in lines) + "\n"


def lines_of(reports: Sequence[RunReport], *, width: int = WIDTH, everything: bool = False) -> Iterator[Line]:
    """Reports line by line. What could not be checked is told of one run, or where everything is asked for."""
    for report in reports:
        yield from report_lines(report, width=width, everything=everything, missing=len(reports) == 1)
        yield ()
    if any(finding.severity != "info" for report in reports for finding in report.findings):
        yield (Piece("More about a finding: pulseboard explain NAME", "dim"),)
        yield ()


def title_of(report: RunReport) -> str:
    """The run's name; its directory's where the run is what was asked for."""
    if report.run != ".":
        return report.run
    return PurePath(report.path.removesuffix(f"/{layout.EVENTS_DIRECTORY}")).name or report.run


def report_lines(
    report: RunReport, *, width: int = WIDTH, everything: bool = False, missing: bool = True
) -> Iterator[Line]:
    """One run: what is wrong, why probably, what to do, what could not be looked at."""
    steps = "no points" if report.steps is None else f"steps {report.steps[0]:,} to {report.steps[1]:,}"
    yield (
        Piece(f"{_SIGNS[report.status]} {title_of(report)}", report.status),
        Piece(f"  {report.status}  ", report.status),
        Piece(f"{steps} · profile {report.profile}", "dim"),
    )
    if not report.findings:
        looked = "Nothing wrong was found." if report.steps else "There is nothing to look at yet."
        yield (Piece(f"  {looked}"),)
    yield from _findings_lines(report, width=width, everything=everything)
    yield from _causes_lines(report, width=width)
    yield from _advice_lines(report, width=width)
    if missing or everything:
        yield from _not_checked_lines(report.not_checked, width=width, everything=everything)
    if report.doubtful:
        yield ()
    for doubt in report.doubtful:
        yield from _wrapped(doubt, width=width, first="  Reading  ", style="dim")
    if everything and report.roles:
        yield ()
        yield (Piece("  Read as", "title"),)
        widest = max(len(role) for role in report.roles)
        for role, tag in report.roles.items():
            yield (Piece(f"    {role:<{widest}}  ", "dim"), Piece(tag, "dim"))


def _findings_lines(report: RunReport, *, width: int, everything: bool) -> Iterator[Line]:
    grave = [finding for finding in report.findings if finding.severity != "info"]
    mild = [finding for finding in report.findings if finding.severity == "info"]
    for finding in grave if everything else grave[:_MOST_FINDINGS]:
        yield ()
        yield from _finding_lines(finding, report, width=width)
    if len(grave) > _MOST_FINDINGS and not everything:
        yield (Piece(f"  … and {len(grave) - _MOST_FINDINGS} more; --all shows them.", "dim"),)
    if mild:
        yield ()
    for finding in mild if everything else mild[:_MOST_FINDINGS]:
        yield from _wrapped(
            f"{finding.slug}: {finding.summary}", width=width, first=f"  {_SIGNS['info']} ", style="info"
        )
    if len(mild) > _MOST_FINDINGS and not everything:
        yield (Piece(f"  … and {len(mild) - _MOST_FINDINGS} more; --all shows them.", "dim"),)


def _causes_lines(report: RunReport, *, width: int) -> Iterator[Line]:
    if not report.causes:
        return
    first, *others = report.causes
    likely = [first, *(one for one in others if one.because and one.probability >= _LEAST_PROBABLE)]
    yield ()
    clear = first.probability >= 0.5 or len(likely) == 1
    yield (Piece("  Likely cause" if clear else "  The cause is unclear; one of these", "title"),)
    for cause in likely:
        yield from _cause_lines(cause, {finding.slug for finding in report.findings}, width=width)


def _advice_lines(report: RunReport, *, width: int) -> Iterator[Line]:
    if report.next_check is not None:
        yield ()
        yield (Piece("  Check next", "title"),)
        yield from _wrapped(report.next_check.do, width=width, first="    ")
        yield from _wrapped(f"({report.next_check.why})", width=width, first="    ", style="dim")
    fixes = _first_fixes(report)
    if fixes:
        yield ()
        yield (Piece("  What to change", "title"),)
    for fix in fixes:
        yield from _wrapped(fix, width=width, first="    - ")


def summary_rows(reports: Sequence[RunReport]) -> list[tuple[str, str, str, str, str]]:
    """(run, status, steps, gravest findings, likeliest cause) of each run, the worst first."""
    order = {"critical": 0, "warning": 1, "info": 2, "ok": 3}
    rows: list[tuple[str, str, str, str, str]] = []
    for report in sorted(reports, key=lambda report: order[report.status]):
        least = "info" if report.status == "info" else None
        slugs = list(dict.fromkeys(f.slug for f in report.findings if f.severity != "info" or least))
        found = ", ".join(slugs[:3]) + (f" +{len(slugs) - 3}" if len(slugs) > 3 else "")
        cause = f"{report.causes[0].slug} {100 * report.causes[0].probability:.0f} %" if report.causes else ""
        steps = "" if report.steps is None else f"{report.steps[1]:,}"
        rows.append((title_of(report), report.status, steps, found, cause))
    return rows


def sparkline(finding: Finding, report: RunReport, *, width: int = _SPARK_WIDTH) -> Line:
    """The finding's curve over the whole run, the stretch it is about in another style."""
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
    """How much of the drawing is after the last number: a curve of NaN has no bars."""
    if finding.last_step <= steps[-1] or finding.last_step <= steps[0]:
        return 0
    share = (finding.last_step - steps[-1]) / (finding.last_step - steps[0])
    if share < 1 / len(steps):  # no more than from one point to the next
        return 0
    return min(width - 1, max(1, round(share * min(width, 2 * len(steps)))))


def _finding_lines(finding: Finding, report: RunReport, *, width: int) -> Iterator[Line]:
    span = f"step {finding.first_step:,}"
    if finding.last_step > finding.first_step:
        span = f"steps {finding.first_step:,} to {finding.last_step:,}"
    yield (
        Piece(f"  {_SIGNS[finding.severity]} {finding.slug}", finding.severity),
        Piece(f"  {span}", "dim"),
    )
    yield from _wrapped(finding.summary, width=width, first="    ")
    room = width - 4 - len(finding.metric) - 2
    beside = room >= 40
    drawn = sparkline(finding, report, width=min(_SPARK_WIDTH, room if beside else width - 4))
    if not drawn:
        return
    yield (Piece("    "), *drawn, Piece(f"  {finding.metric}" if beside else "", "dim"))
    marks = "".join("▔" if piece.style == "bad" else " " for piece in drawn)
    if set(marks) == {" ", "▔"}:
        yield (Piece("    "), Piece(marks.rstrip(), "bad"))


def _cause_lines(cause: RankedCause, present: set[str], *, width: int) -> Iterator[Line]:
    known = all_causes().get(cause.slug)
    title = known.title if known is not None else cause.slug
    share = f"  {100 * cause.probability:4.0f} %  "
    if len(share) + len(title) + 2 + len(cause.slug) <= width:
        yield (Piece(share, "strong"), Piece(title, "strong"), Piece(f"  {cause.slug}", "dim"))
    else:
        yield from _wrapped(title, width=width, first=share, style="strong")
        yield from _wrapped(cause.slug, width=width, first=" " * len(share), style="dim")
    speaks = f"for: {', '.join(cause.because)}" if cause.because else ""
    signs = [slug if slug in present else f"no {slug}" for slug in cause.against[:3]]
    contradicts = f"against: {', '.join(signs)}" if signs else ""
    both = "; ".join(part for part in (speaks, contradicts) if part)
    if both:
        yield from _wrapped(both, width=width, first="          ", style="dim")


def _first_fixes(report: RunReport) -> list[str]:
    if report.causes and report.causes[0].fixes:
        return list(report.causes[0].fixes)
    return [fix for finding in report.findings[:1] if finding.severity != "info" for fix in finding.fixes]


def _not_checked_lines(not_checked: Sequence[NotChecked], *, width: int, everything: bool) -> Iterator[Line]:
    if not not_checked:
        return
    yield ()
    if everything:
        yield (Piece("  Not checked", "title"),)
        for one in not_checked:
            how = f" To have it: {one.log}" if one.log else ""
            yield from _wrapped(f"{one.slug}: {one.because}.{how}", width=width, first="    - ", style="dim")
        return
    yield (Piece("  Not checked; these lines would log what it takes", "title"),)
    special = tuple(prefix for prefixes in _SPECIAL.values() for prefix in prefixes)
    by_line: dict[str, list[NotChecked]] = {}
    for one in not_checked:
        if one.log and not one.slug.startswith(special):
            by_line.setdefault(one.log, []).append(one)
    # What most findings wait for is worth most.
    first = sorted(by_line.items(), key=lambda item: -len(item[1]))[:_MOST_ADVICE]
    for line, ones in first:
        slugs = [one.slug for one in ones]
        some = ", ".join(slugs[:4]) + (f" and {len(slugs) - 4} more" if len(slugs) > 4 else "")
        yield from _wrapped(line, width=width, first="    ", style="dim")
        yield from _wrapped(f"for {some}", width=width, first="      ", style="dim")
    rest = len(not_checked) - sum(len(ones) for _, ones in first)
    if rest:
        yield (Piece(f"    {rest} more; --all lists them and what to log.", "dim"),)


def _wrapped(text: str, *, width: int, first: str, style: str = "") -> Iterator[Line]:
    indent = " " * len(first)
    for i, line in enumerate(textwrap.wrap(text, max(20, width - len(first)), break_on_hyphens=False) or [""]):
        yield (Piece(first if i == 0 else indent, style), Piece(line, style))
