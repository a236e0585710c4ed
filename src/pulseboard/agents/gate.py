"""The gate: whether a run is at least as good as earlier ones. Metrics, incidents, length, speed and memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from pulseboard.agents.subjects import Subject
from pulseboard.agents.wording import short
from pulseboard.core.finding import SEVERITIES, Severity
from pulseboard.core.series import Series
from pulseboard.core.tag_names import better_end, is_of_machine, says_how_good
from pulseboard.diagnose.phrases import percent
from pulseboard.diagnose.report.sentences import verdict
from pulseboard.diagnose.report.text import title_of

Kind = Literal["metric", "incident", "length", "speed", "memory"]

# A value at the end is the median of the last tenth, so that one noisy batch decides nothing.
_END_SHARE, _MAX_END_POINTS = 0.1, 200
# A run that ends before this share of the shortest earlier one has not shown what they have.
_LEAST_LENGTH = 0.9
_MEMORY_ROLES = ("memory.peak", "memory.used")


@dataclass(frozen=True, slots=True)
class Limits:
    """How much worse than the worst earlier run a run may be, as shares; and which tags and findings count."""

    tolerance: float = 0.05
    slowdown: float = 0.2
    memory: float = 0.1
    fail_on: Severity = "warning"


@dataclass(frozen=True, slots=True)
class GateCheck:
    """One comparison. `passed` is None if there is nothing to compare."""

    kind: Kind
    name: str
    passed: bool | None
    value: float | None
    limit: float | None
    text: str


@dataclass(frozen=True, slots=True)
class GateResult:
    """All comparisons of a run with earlier ones."""

    run: str
    verdict: str
    against: tuple[str, ...]
    checks: tuple[GateCheck, ...]

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(check.passed is not False for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "schema": 1,
            "passed": self.passed,
            "run": self.run,
            "verdict": self.verdict,
            "against": list(self.against),
            "checks": [asdict(check) for check in self.checks],
        }


def gate(run: Subject, earlier: Sequence[Subject], *, tags: Sequence[str], limits: Limits | None = None) -> GateResult:
    """Compare a run with one or more earlier ones. `tags` are the metrics that count."""
    limits = limits or Limits()
    checks = (
        *_metrics(run, earlier, tags, limits.tolerance),
        *_incidents(run, earlier, limits.fail_on),
        _length(run, earlier),
        _speed(run, earlier, limits.slowdown),
        _memory(run, earlier, limits.memory),
    )
    names = tuple(title_of(one.report) for one in earlier)
    return GateResult(title_of(run.report), verdict(run.report), names, checks)


def metrics_of(earlier: Sequence[Subject]) -> list[str]:
    """The losses, errors and scores that every earlier run logs."""
    common = set.intersection(*(set(one.tags()) for one in earlier))
    return [tag for tag in earlier[0].tags() if tag in common and says_how_good(tag) and not is_of_machine(tag)]


# ---- the checks


def _metrics(run: Subject, earlier: Sequence[Subject], tags: Sequence[str], tolerance: float) -> Iterator[GateCheck]:
    logged = set(run.tags())
    for tag in tags:
        known = [end_value(one.series(tag)) for one in earlier if tag in one.tags()]
        finite = [value for value in known if value is not None and np.isfinite(value)]
        if not finite:
            yield GateCheck("metric", tag, None, None, None, "no earlier run has a finite value")
            continue
        low = better_end(tag) == "min"
        worst = max(finite) if low else min(finite)
        limit = worst + (1 if low else -1) * tolerance * abs(float(np.median(finite)))
        value = end_value(run.series(tag)) if tag in logged else None
        if value is None:
            yield GateCheck("metric", tag, False, None, limit, "not logged by this run")
            continue
        passed = bool(value <= limit if low else value >= limit)  # NaN fails
        span = short(finite[0]) if len(finite) == 1 else f"{short(min(finite))} to {short(max(finite))}"
        bound = f"{'at most' if low else 'at least'} {short(limit)}"
        yield GateCheck("metric", tag, passed, value, limit, f"{short(value)}; earlier {span}, allowed {bound}")


def _incidents(run: Subject, earlier: Sequence[Subject], fail_on: Severity) -> Iterator[GateCheck]:
    known = {(one.slug, one.severity) for subject in earlier for one in subject.report.findings}
    counted = SEVERITIES[SEVERITIES.index(fail_on) :]
    new = [
        one
        for one in run.report.findings
        if one.severity in counted
        and not any((one.slug, s) in known for s in SEVERITIES[SEVERITIES.index(one.severity) :])
    ]
    for one in new:
        yield GateCheck("incident", one.slug, False, None, None, f"{one.severity}: {one.summary}")
    if not new:
        yield GateCheck("incident", "new findings", True, None, None, f"none at {fail_on} or above")


def _length(run: Subject, earlier: Sequence[Subject]) -> GateCheck:
    lengths = [one.report.steps[1] for one in earlier if one.report.steps is not None]
    if not lengths:
        return GateCheck("length", "last step", None, None, None, "the earlier runs have no steps")
    last = -1 if run.report.steps is None else run.report.steps[1]
    limit = _LEAST_LENGTH * min(lengths)
    return GateCheck("length", "last step", last >= limit, last, limit, f"{last}; earlier {_span(lengths)}")


def _speed(run: Subject, earlier: Sequence[Subject], slowdown: float) -> GateCheck:
    known = [secs for one in earlier if (secs := secs_per_step(one)) is not None]
    value = secs_per_step(run)
    if not known or value is None:
        return GateCheck("speed", "seconds per step", None, value, None, "not known: the logs have no wall times")
    limit = max(known) * (1 + slowdown)
    text = f"{short(value)}; earlier {_span(known)}, allowed at most {short(limit)}"
    return GateCheck("speed", "seconds per step", value <= limit, value, limit, text)


def _memory(run: Subject, earlier: Sequence[Subject], more: float) -> GateCheck:
    for role in _MEMORY_ROLES:
        known = [peak for one in earlier if (peak := _peak(one, role)) is not None]
        value = _peak(run, role)
        if known and value is not None:
            limit = max(known) * (1 + more)
            text = f"{short(value)}; earlier {_span(known)}, allowed at most {short(limit)}"
            return GateCheck("memory", run.report.roles[role], value <= limit, value, limit, text)
    return GateCheck("memory", "peak memory", None, None, None, "not logged by both")


# ---- numbers


def end_value(series: Series) -> float | None:
    """The median of the last tenth of the points; NaN if the last one is not finite; None without points."""
    if not len(series):
        return None
    if not np.isfinite(series.values[-1]):
        return float(series.values[-1])
    part = series.values[-min(_MAX_END_POINTS, max(1, int(_END_SHARE * len(series)))) :]
    return float(np.median(part[np.isfinite(part)]))


def secs_per_step(one: Subject) -> float | None:
    """The median time of a step, from the wall times of the training loss or of the longest series."""
    tags = one.tags()
    if not tags:
        return None
    tag = one.report.roles.get("train.loss")
    series = one.series(tag) if tag in tags else max(map(one.series, tags), key=len)
    steps, secs = np.diff(series.steps), np.diff(series.wall_times)
    known = (steps > 0) & (secs > 0)
    return float(np.median(secs[known] / steps[known])) if known.any() else None


def _peak(one: Subject, role: str) -> float | None:
    tag = one.report.roles.get(role)
    if tag is None:
        return None
    values = one.series(tag).values
    finite = values[np.isfinite(values)]
    return float(finite.max()) if len(finite) else None


def _span(values: Sequence[float]) -> str:
    return short(values[0]) if len(values) == 1 else f"{short(min(values))} to {short(max(values))}"


# ---- texts


def gate_lines(result: GateResult) -> Iterator[str]:
    """One line per check, the failed ones first, after the result."""
    yield f"{'passed' if result.passed else 'failed'}: {result.run} against {', '.join(result.against)}"
    for check in sorted(result.checks, key=lambda check: check.passed is not False):
        yield f"{_WORDS[check.passed]} {check.kind} {check.name}: {check.text}"


def gate_markdown(result: GateResult, limits: Limits) -> str:
    """A summary for a pull request."""
    head = f"## {'✅' if result.passed else '❌'} Training gate: {_code(result.run)} {_WORDS[result.passed]}"
    rows = [
        f"| {_SIGNS[check.passed]} | {check.kind} | {_code(check.name)} | {_cell(check.text)} |"
        for check in sorted(result.checks, key=lambda check: check.passed is not False)
    ]
    against = ", ".join(map(_code, result.against))
    rules = (
        f"Metrics may be {percent(limits.tolerance)} worse than the worst of {against}, "
        f"steps {percent(limits.slowdown)} slower, memory {percent(limits.memory)} higher; "
        f"new findings count from {limits.fail_on}."
    )
    table = ["| | check | of | result |", "| --- | --- | --- | --- |", *rows]
    return "\n".join([head, "", f"Diagnosis: {_cell(result.verdict)}", "", *table, "", rules, ""])


_WORDS = {True: "passed", False: "failed", None: "skipped"}
_SIGNS = {True: "✅", False: "❌", None: "➖"}


def _code(text: str) -> str:
    return f"`{_cell(text).replace('`', chr(39))}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
