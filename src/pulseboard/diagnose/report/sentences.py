"""The sentences that reports share: statuses, incidents, likely causes and coverage, in every format."""

from __future__ import annotations

from collections.abc import Sequence

from pulseboard.core.finding import Finding, Incident, RankedCause, RunReport
from pulseboard.diagnose.judge.causes import all_causes
from pulseboard.diagnose.judge.coverage import LEAST_EVALUATIONS, LEAST_RETURNS, LEAST_TRAINING
from pulseboard.diagnose.phrases import count, percent

SIGNS = {"critical": "✖", "warning": "▲", "info": "•", "unknown": "?", "ok": "✔"}
STATUS_ORDER = ("critical", "warning", "info", "unknown", "ok")
"""From worst to best."""

_LABELS = {"ok": "healthy", "unknown": "not enough data"}
# Roles that show whether a model learns: one of them, with enough points, is what a verdict needs.
_VERDICT_ROLES = ("train.loss", "loss.components", "val.loss", "val.accuracy", "gan.loss", "rl.loss", "rl.return")
# Checks for kinds of training that most runs are not: their metrics are only listed with --all.
_SPECIAL = (
    "moe-",
    "ema-",
    "mask-",
    "prediction-",
    "representation-",
    "target-gradient",
    "relative-loss",
    "hierarchy-",
    "quantile-",
    "gpu-",
    "sol-",
    "oom-",
    "rank-",
    "loss-scale",
    "steps-skipped",
    "return-",
)
# Less likely causes are only in the JSON report.
_LEAST_PROBABLE = 0.05
_MOST_ADVICE = 3
_MOST_SLUGS = 4


def status_label(status: str) -> str:
    """A status in words: "healthy" for "ok", "not enough data" for "unknown"."""
    return _LABELS.get(status, status)


def verdict(report: RunReport) -> str:
    """The status, the headline of the worst incident and its likely cause, in one line."""
    label = status_label(report.status)
    if not report.incidents:
        notes = ", ".join(dict.fromkeys(finding.slug for finding in report.findings))
        return f"{label} ({notes})" if notes and report.status == "info" else label
    first = report.incidents[0]
    lead = report.findings[first.findings[0]]
    parts = [f"{label}: {first.headline} ({lead.slug}{'' if first.open else ', over'})"]
    if likely := likely_causes(first.causes):
        name, sentence = cause_sentence(likely[:1])
        parts.append(f"{name}: {sentence}")
    if len(report.incidents) > 1:
        parts.append(f"And: {'; '.join(one.headline for one in report.incidents[1:])}")
    return ". ".join(parts)


def nothing_found(report: RunReport) -> str:
    """What to say of a run without incidents; empty if it has some."""
    if report.incidents:
        return ""
    if report.status == "unknown":
        return _missing_data(report)
    return "" if report.findings else "No problems found."


def _missing_data(report: RunReport) -> str:
    """What a run that cannot be judged lacks."""
    if report.steps is None:
        return "Nothing has been logged yet."
    tags = [report.roles[role] for role in _VERDICT_ROLES if role in report.roles]
    if tags:
        return (
            f"Too few points to judge ({', '.join(tags)}). A verdict needs {LEAST_TRAINING} points of a training loss, "
            f"{LEAST_EVALUATIONS} evaluations of a validation loss or accuracy, or {LEAST_RETURNS} episode returns."
        )
    return (
        "No training loss, validation loss, accuracy or return was recognized. If one is logged, name its tag: "
        "--role train.loss=TAG"
    )


def incident_span(incident: Incident) -> str:
    """When an incident happened, and how much of the run it covers."""
    if incident.open:
        when = f"since step {incident.first_step:,}"
    elif incident.last_step > incident.first_step:
        when = f"steps {incident.first_step:,} to {incident.last_step:,}"
    else:
        when = f"at step {incident.first_step:,}"
    return f"{when}, {percent(incident.cost.value)} of the run" if incident.cost.value > 0 else when


def notes_of(report: RunReport) -> list[Finding]:
    """The findings that belong to no incident."""
    grouped = {i for incident in report.incidents for i in incident.findings}
    return [finding for i, finding in enumerate(report.findings) if i not in grouped]


def likely_causes(causes: Sequence[RankedCause]) -> list[RankedCause]:
    """The first cause, and others that have evidence and are not too unlikely."""
    return [
        one
        for i, one in enumerate(causes)
        if i == 0 or ((one.because or one.signs) and one.probability >= _LEAST_PROBABLE)
    ]


def cause_sentence(likely: Sequence[RankedCause]) -> tuple[str, str]:
    """(label, sentence): "Likely cause" and "the learning rate is too high (60 %), or one batch was bad (20 %)"."""
    several = "Possible causes" if len(likely) > 1 else "Possible cause"
    label = "Likely cause" if likely[0].probability >= 0.5 else several
    titles = [f"{_lower_first(cause_title(one))} ({percent(one.probability)})" for one in likely]
    return label, ", or ".join(titles)


def cause_title(cause: RankedCause) -> str:
    """The title of a cause; its slug if another package made it up."""
    known = all_causes().get(cause.slug)
    return known.title if known is not None else cause.slug


def evidence_sentences(cause: RankedCause, report: RunReport) -> list[str]:
    """What supports a cause, what it would have caused but is absent, and what contradicts it."""
    present = {finding.slug for finding in report.findings}
    absent = [slug for slug in cause.against if slug not in present]
    contradicting = [slug for slug in cause.against if slug in present]
    same = [_lower_first(all_causes()[slug].title) for slug in cause.alike if slug in all_causes()]
    parts = {
        "supported by: ": ", ".join([*cause.because[:_MOST_SLUGS], *cause.signs]),
        "expected but absent: ": ", ".join(absent[:_MOST_SLUGS]),
        "contradicted by: ": ", ".join(contradicting[:_MOST_SLUGS]),
        "curves cannot tell it from: ": ", ".join(same),
    }
    return [what + names for what, names in parts.items() if names]


def coverage_sentence(report: RunReport) -> str:
    """ "31 of 90 checks ran."; empty if that is not known."""
    return f"{report.coverage.ran} of {count(report.coverage.of, 'check')} ran." if report.coverage.of else ""


def lines_to_add(report: RunReport) -> list[tuple[str, str]]:
    """The lines of code that would enable most of the other checks, with how many each enables."""
    enabled: dict[str, int] = {}
    for one in report.not_checked:
        if one.log and not one.slug.startswith(_SPECIAL):
            enabled[one.log] = enabled.get(one.log, 0) + 1
    first = sorted(enabled.items(), key=lambda item: -item[1])[:_MOST_ADVICE]
    return [(line, count(checks, "check")) for line, checks in first]


def _lower_first(title: str) -> str:
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]
