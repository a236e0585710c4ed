"""Followers: findings that are consequences of another one. They are reported as info."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pulseboard.core.finding import SEVERITIES, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.guide import brings

# A follower may be seen a little earlier than its leader, which needs more points.
_SOONER = 0.05


def followers_below(findings: Sequence[Finding], case: Case) -> tuple[Finding, ...]:
    """The findings, most severe first, with each follower as info that names its leader."""
    first, last = case.steps or (0, 0)
    slack = _SOONER * (last - first)
    severe = [finding for finding in findings if finding.severity != "info"]
    kept = []
    for finding in findings:
        begins = finding.first_step if finding.first_step > first else last  # a state of the whole run, not an episode
        leader = next(
            (
                other
                for other in severe
                if finding.slug in brings(other.slug, other.metric) and begins >= other.first_step - slack
            ),
            None,
        )
        if leader is not None and finding.severity != "info":
            summary = f"{finding.summary.rstrip('.')}; this follows from {leader.slug}."
            finding = replace(finding, severity="info", summary=summary)
        kept.append(finding)
    return tuple(sorted(kept, key=lambda f: -SEVERITIES.index(f.severity)))
