"""Incidents: findings that belong to one problem, with one headline, cost and likely cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    " representation-collapse posterior-collapsed moe-router-collapse policy-update-too-large value-diverged"
    " return-collapsed loss-level-shift loss-spike update-too-large"
    " gradient-zeros dead-units update-too-small weights-shrinking loss-at-marginal loss-at-ignorance loss-flat"
    " return-flat eval-frozen loss-plateau eval-at-chance overfitting val-gap-from-start"
).split()

# Below this probability, what the finding's own page advises is worth more than what would cure the cause.
_WORTH_FIXING = 0.3

Ranked = tuple[tuple[RankedCause, ...], NextCheck | None]
Rank = Callable[[Sequence[Finding], bool], Ranked]


def incidents_of(
    findings: Sequence[Finding], evidence: Sequence[Finding], case: Case, rank: Rank
) -> tuple[Incident, ...]:
    """At most one incident for the model and one for the machine, the worst first.

    A training has one fault far more often than two, and a person can act on one problem at a time. The other
    findings stay in the incident as evidence. `evidence` is the findings as they were before consequences became
    notes; `rank` gives the causes of some of them, which are about the machine or not. If there are two problems, each
    is explained by its own findings.
    """
    alarms = [i for i, finding in enumerate(findings) if finding.severity != "info"]
    groups = [(machine, [i for i in alarms if is_about_machine(findings[i]) is machine]) for machine in (False, True)]
    groups = [(machine, group) for machine, group in groups if group]
    found = []
    for machine, group in groups:
        own = [one for one in evidence if is_about_machine(one) is machine] if len(groups) > 1 or machine else evidence
        causes, next_check = rank(own, machine)
        if machine:
            causes = tuple(cause for cause in causes if {findings[i].slug for i in group} & set(cause.because))
            next_check = next_check if causes else None
        members = sorted(group, key=lambda i: _order(findings, i))
        found.append(_incident(findings, members, case, causes, next_check))
    return tuple(sorted(found, key=lambda one: (-SEVERITIES.index(one.severity), one.first_step)))


def is_about_machine(finding: Finding) -> bool:
    """Whether a finding is about hardware or speed, not about the model."""
    return finding.slug in MACHINE


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
        causes=tuple(causes),
        next_check=next_check,
        fixes=causes[0].fixes if causes and causes[0].probability >= _WORTH_FIXING else lead.fixes,
    )


def _headline(lead: Finding, span: tuple[int, int]) -> str:
    """The sentence below the title of the finding's page, and since when."""
    try:
        what = guide(lead.slug).summary.rstrip(".")
    except NoGuide:
        what = lead.slug.replace("-", " ").capitalize()
    when = f", from step {lead.first_step:,}" if lead.first_step > span[0] else ""
    return f"{what}{when}"
