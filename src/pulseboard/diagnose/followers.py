"""Followers: findings that another one brings along. They are told as info, below what they follow from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pulseboard.core.finding import SEVERITIES, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.guide import brings

# A follower may be seen a little sooner than what brings it, which needs more points to be sure of.
_SOONER = 0.05


def followers_below(findings: Sequence[Finding], case: Case) -> tuple[Finding, ...]:
    """The findings, the gravest first, with each follower as info and a word on what it follows from."""
    first, last = case.steps or (0, 0)
    slack = _SOONER * (last - first)
    graves = [finding for finding in findings if finding.severity != "info"]
    told = []
    for finding in findings:
        begins = finding.first_step if finding.first_step > first else last  # a state, not an episode: of the whole run
        leader = next(
            (
                other
                for other in graves
                if finding.slug in brings(other.slug, other.metric) and begins >= other.first_step - slack
            ),
            None,
        )
        if leader is not None and finding.severity != "info":
            summary = f"{finding.summary.rstrip('.')}; that follows from {leader.slug}."
            finding = replace(finding, severity="info", summary=summary)
        told.append(finding)
    return tuple(sorted(told, key=lambda f: -SEVERITIES.index(f.severity)))
