"""Answers about runs as short plain text: names before numbers, four significant digits, `more: N` where cut."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pulseboard.agents.compare import compare, comparison_lines, listed
from pulseboard.agents.conditions import parse_condition
from pulseboard.agents.subjects import Subject, state_of, subject_of, trainings_of
from pulseboard.agents.wait import IDLE_SECS, wait_until
from pulseboard.agents.wording import short
from pulseboard.core.errors import PulseboardError, RunNotFound
from pulseboard.core.finding import Incident, RunReport
from pulseboard.diagnose.cases import Training
from pulseboard.diagnose.guide import guide
from pulseboard.diagnose.report.sentences import (
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
from pulseboard.diagnose.report.text import title_of
from pulseboard.diagnose.scorecard.scorecard import scorecard_of_training
from pulseboard.read.runs import Runs

MAX_WAIT_SECS = 3600.0
# An overview of so many bytes is about 2,000 tokens.
_OVERVIEW_BYTES = 7600
_MAX_NAME = 60
_MAX_OTHERS = 6
_MAX_NOTES = 4
# How a run is doing, where that is worth a word.
_STATES = {"running": " live", "failed": " failed", "killed": " killed"}
_GUIDE_ROWS = 12
_COMPARE_ROWS = 12


class Answers:
    """Answers about the runs of some log directories. Each one first reads what is new."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._kept: dict[str, tuple[object, Subject]] = {}  # by training, with the state of its log

    def overview(self, *, match: str = "", rows: int = 100) -> str:
        """One line per run, the worst first: status, name, step, what is wrong, likely cause."""
        self._runs.poll()
        pattern = _compiled(match)
        found = [one for one in trainings_of(self._runs) if pattern.search(one.name)]
        if not found:
            return "no runs" if not match else f"no run matches {match!r}"
        now = time.time()
        subjects = sorted(
            (self._subject(one) for one in found[: max(1, rows)]), key=lambda one: STATUS_ORDER.index(one.report.status)
        )
        lines, size = [], 0
        for one in subjects:
            line = _overview_line(one, state_of(one.training.parts[0][1], idle_secs=IDLE_SECS, now=now))
            size += len(line.encode()) + 1
            if size > _OVERVIEW_BYTES:
                break
            lines.append(line)
        return "\n".join([*lines, *_more(len(found) - len(lines))])

    def why(self, run: str) -> str:
        """What is wrong with a run, since when, the likely cause, what to check next and what to change."""
        return "\n".join(_why_lines(self._find(run).report))

    def curve(
        self, runs: Sequence[str], tag: str, *, first: int | None = None, last: int | None = None, rows: int = 20
    ) -> str:
        """The points of a tag, averaged to some rows, after a line with the range."""
        return "\n".join(line for run in runs for line in _curve_lines(self._find(run), tag, first, last, max(1, rows)))

    def compare(self, a: str, b: str) -> str:
        """Two runs: verdicts, last and best values, settings that differ."""
        return "\n".join(comparison_lines(compare(self._find(a), self._find(b)), rows=_COMPARE_ROWS))

    def explain(self, slug: str) -> str:
        """The page about a finding, without its references."""
        page = guide(slug)
        sections = {title: text for title, text in page.sections.items() if title != "References"}
        return "\n".join([f"{slug}: {page.summary}", *(f"{title}: {text}" for title, text in sections.items())])

    def wait(self, until: str, secs: float, *, run: str = "") -> str:
        """Wait until something happens, for some time at most."""
        condition = parse_condition(until)
        self._runs.poll()
        names = [part.name for _, part in self._find(run).training.parts] if run else None
        outcome = wait_until(
            self._runs,
            [condition],
            chosen=lambda runs: list(runs) if names is None else [name for name in names if name in runs],
            timeout_secs=min(max(0.0, secs), MAX_WAIT_SECS),
        )
        label = {"met": "met", "ended": "not met, the run ended", "timeout": "not met yet"}[outcome.result]
        return f"{label}: {until}. {' '.join(part for part in (outcome.run, outcome.text) if part)}"

    def guide(self, run: str) -> str:
        """The training guide that fits a run, filled in: what is not as the guide wants it."""
        card = scorecard_of_training(self._find(run).training)
        bad = [row for row in card.metrics if row.grade not in (None, "ok")]
        lines = [f"{card.run}: {status_label(card.status)} by the guide {card.profile} ({card.title})"]
        lines += [
            f"{row.tag} {short(row.value)}: {row.verdict}; {'; '.join(row.limits) or row.expected}" for row in bad
        ]
        lines = [*lines[: _GUIDE_ROWS + 1], *_more(len(lines) - 1 - _GUIDE_ROWS)]
        lines += [f"check: {one.ask} {one.reply}; {one.then}" for one in card.checks if one.bad][:_GUIDE_ROWS]
        lines += [
            f"pattern {one.name}: {one.cause}; fix: {listed(list(one.fix), 3)}" for one in card.patterns if one.matches
        ]
        good = sum(row.grade == "ok" for row in card.metrics)
        return "\n".join([*lines, f"as expected: {good} of {len(card.metrics)} metrics"])

    # ---- finding runs

    def _find(self, name: str) -> Subject:
        self._runs.poll()
        found = list(trainings_of(self._runs))
        for training in found:
            names = {training.name, *(n for _, part in training.parts for n in (part.name, *part.aliases))}
            if name in names:
                return self._subject(training)
        close = [training for training in found if name and name in training.name]
        if len(close) == 1:
            return self._subject(close[0])
        raise RunNotFound(name, known=[training.name for training in close or found])

    def _subject(self, training: Training) -> Subject:
        version = [(run.points, run.last_written) for _, run in training.parts]
        kept = self._kept.get(training.name)
        # A run that is alive may stall without writing anything.
        if kept is None or kept[0] != version or kept[1].case.context.status == "running":
            kept = self._kept[training.name] = version, subject_of(training)
        return kept[1]


def _compiled(match: str) -> re.Pattern[str]:
    try:
        return re.compile(match)
    except re.error as error:
        raise PulseboardError(f"Invalid regular expression {match!r}: {error}.") from None


def _more(left: int) -> list[str]:
    return [f"more: {left}"] if left > 0 else []


def _overview_line(one: Subject, state: str) -> str:
    report = one.report
    name = title_of(report)
    name = name if len(name) <= _MAX_NAME else f"…{name[1 - _MAX_NAME :]}"
    step = "no points" if report.steps is None else f"@{report.steps[1]}"
    head = f"{name} {status_label(report.status)} {step}{_STATES.get(state, '')}"
    if not report.incidents:
        return head
    first = report.incidents[0]
    cause = f"; {first.causes[0].slug} {100 * first.causes[0].probability:.0f} %" if first.causes else ""
    return f"{head}: {report.findings[first.findings[0]].slug}{cause}"


def _why_lines(report: RunReport) -> Iterator[str]:
    steps = "no points" if report.steps is None else f"steps {report.steps[0]}-{report.steps[1]}"
    yield f"{title_of(report)}: {status_label(report.status)}, {steps}, profile {report.profile}"
    if sentence := nothing_found(report):
        yield sentence
    for incident in report.incidents:
        yield from _incident_lines(incident, report)
    if notes := notes_of(report):
        shown = [f"{one.slug}: {one.summary}" for one in notes] if not report.incidents else [one.slug for one in notes]
        yield f"notes: {listed(shown, _MAX_NOTES)}"
    yield coverage_sentence(report)
    if report.status == "unknown":
        yield from (f"log: {line} ({checks})" for line, checks in lines_to_add(report))


def _incident_lines(incident: Incident, report: RunReport) -> Iterator[str]:
    lead, *others = (report.findings[i] for i in incident.findings)
    over = "" if incident.open else ", over"
    yield f"{incident.severity}: {incident.headline} [{lead.slug}], {incident_span(incident)}{over}"
    yield lead.summary
    if others:
        yield f"also: {listed([one.slug for one in others], _MAX_OTHERS)}"
    if likely := likely_causes(incident.causes):
        label, sentence = cause_sentence(likely)
        yield f"{label.lower()}: {sentence}"
        if sentences := evidence_sentences(likely[0], report):
            yield f"{likely[0].slug} · {'; '.join(sentences)}"
    if incident.next_check is not None:
        yield f"next check: {incident.next_check.do}"
    if incident.fixes:
        yield f"fixes: {' '.join(incident.fixes)}"


def _curve_lines(one: Subject, tag: str, first: int | None, last: int | None, rows: int) -> Iterator[str]:
    series = one.series(tag)
    inside = np.ones(len(series), bool)
    if first is not None:
        inside &= series.steps >= first
    if last is not None:
        inside &= series.steps <= last
    steps, values = series.steps[inside], series.values[inside]
    if not len(steps):
        where = f"steps {series.steps.min()}-{series.steps.max()}" if len(series) else "no points"
        yield f"{one.name} {tag}: no points there; it has {where}"
        return
    yield f"{one.name} {tag}: {len(steps)} points{_range(values)}"
    for part in np.array_split(np.arange(len(steps)), min(rows, len(steps))):
        finite = values[part][np.isfinite(values[part])]
        odd = len(part) - len(finite)
        mean = f" {short(float(finite.mean()))}" if len(finite) else ""
        yield f"{steps[part[-1]]}{mean}{f' ({odd} not finite)' if odd else ''}"


def _range(values: NDArray[np.float64]) -> str:
    finite = values[np.isfinite(values)]
    last = f"last {short(float(values[-1]))}"
    if not len(finite):
        return f", {last}"
    low, high = short(float(finite.min())), short(float(finite.max()))
    return f", min {low} max {high} {last}, rows: last step of each part and its mean"
