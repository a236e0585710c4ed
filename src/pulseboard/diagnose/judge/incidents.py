"""Incidents: findings that belong to one problem, with one headline, cost and likely cause."""

from __future__ import annotations

from collections.abc import Sequence

from pulseboard.core.finding import SEVERITIES, Cost, Finding, Incident, NextCheck, RankedCause
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.guide import NoGuide, brings, guide

# Hardware and speed problems are kept apart from model problems: often other people fix them.
MACHINE = frozenset(
    "throughput-drop step-time-periodic data-stall memory-growth oom-risk run-stalled gpu-fault gpu-throttled"
    " gpu-underused sol-low rank-straggler steps-skipped".split()
)
# Which finding leads: exact checks and root causes before their consequences.
_FIRST = (
    "loss-nan gradient-nan nan-masked loss-zero lr-zero weights-frozen impossible-value rank-desync batches-repeated"
    " loss-scale-collapse resume-discontinuity data-shift lr-jump loss-diverged gradient-exploding weights-exploding"
    " representation-collapse moe-router-collapse return-collapsed loss-level-shift loss-spike update-too-large"
    " gradient-zeros dead-units update-too-small weights-shrinking loss-at-marginal loss-at-ignorance loss-flat"
    " return-flat eval-frozen loss-plateau eval-at-chance overfitting val-gap-from-start"
).split()


def incidents_of(
    findings: Sequence[Finding],
    case: Case,
    causes: Sequence[RankedCause],
    next_check: NextCheck | None,
) -> tuple[Incident, ...]:
    """At most one incident for the model and one for the machine, the worst first.

    A training has one fault far more often than two, and a person can act on one problem at a time. The other
    findings stay in the incident as evidence.
    """
    alarms = [i for i, finding in enumerate(findings) if finding.severity != "info"]
    groups = [[i for i in alarms if (findings[i].slug in MACHINE) is machine] for machine in (False, True)]
    found = [
        _incident(findings, sorted(group, key=lambda i: _order(findings, i)), case, causes, next_check)
        for group in groups
        if group
    ]
    return tuple(sorted(found, key=lambda one: (-SEVERITIES.index(one.severity), one.first_step)))


def _order(findings: Sequence[Finding], index: int) -> tuple[int, int, int, int]:
    """Root before consequence, then severity, then the usual order of cause and effect, then time."""
    finding = findings[index]
    follows = any(finding.slug in brings(other.slug, other.metric) for other in findings if other.severity != "info")
    place = _FIRST.index(finding.slug) if finding.slug in _FIRST else len(_FIRST)
    return int(follows), -SEVERITIES.index(finding.severity), place, finding.first_step


def _incident(
    findings: Sequence[Finding],
    members: list[int],
    case: Case,
    causes: Sequence[RankedCause],
    next_check: NextCheck | None,
) -> Incident:
    lead = findings[members[0]]
    grouped = [findings[i] for i in members]
    slugs = {finding.slug for finding in grouped}
    # Causes are ranked for the whole run; an incident gets those that explain one of its findings.
    own = tuple(cause for cause in causes if slugs & set(cause.because)) or (() if slugs <= MACHINE else tuple(causes))
    first = min(finding.first_step for finding in grouped)
    last = max(finding.last_step for finding in grouped)
    span = case.steps or (first, last)
    is_open = last >= span[1] - 0.02 * (span[1] - span[0])
    return Incident(
        id=f"{lead.slug}@{lead.first_step}",
        headline=_headline(lead, span),
        severity=max((finding.severity for finding in grouped), key=SEVERITIES.index),
        first_step=first,
        last_step=last,
        open=is_open,
        cost=Cost("share of the run", round((last - first) / max(1, span[1] - span[0]), 3)),
        findings=tuple(members),
        causes=own,
        next_check=next_check if own == tuple(causes) or own[:1] == tuple(causes[:1]) else None,
        fixes=own[0].fixes if own else lead.fixes,
    )


def _headline(lead: Finding, span: tuple[int, int]) -> str:
    """The sentence below the title of the finding's page, and since when."""
    try:
        what = guide(lead.slug).summary.rstrip(".")
    except NoGuide:
        what = lead.slug.replace("-", " ").capitalize()
    when = f", from step {lead.first_step:,}" if lead.first_step > span[0] else ""
    return f"{what}{when}"
