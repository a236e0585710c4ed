"""Evidence: findings and signs with three values. What could not be observed counts neither way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from pulseboard.core.finding import SEVERITIES, Finding
from pulseboard.diagnose.judge.causes import all_causes
from pulseboard.diagnose.roles.resolve import possible_roles

SIGN = "sign"  # in place of a severity


def evidence_of(
    findings: Sequence[Finding], absent: Iterable[str], signs: Mapping[str, bool]
) -> tuple[dict[str, str], set[str]]:
    """The evidence that is present, with its severity, and the evidence that was looked for and is absent."""
    present = _strongest(findings)
    missing = _missing(set(absent) - set(present), present)
    present |= {name: SIGN for name, is_so in signs.items() if is_so}
    missing |= {name for name, is_so in signs.items() if not is_so}
    return present, missing


def _strongest(findings: Iterable[Finding]) -> dict[str, str]:
    """Finding -> its highest severity."""
    order = SEVERITIES
    present: dict[str, str] = {}
    for finding in findings:
        variants = [f"{finding.slug}@{role}" for role in possible_roles(finding.metric)]
        for name in (finding.slug, *(variant for variant in variants if variant in _variants())):
            if order.index(finding.severity) >= order.index(present.get(name, "info")):
                present[name] = finding.severity
    return present


def _missing(absent: set[str], present: Mapping[str, str]) -> set[str]:
    """What is known to be absent: a finding in one series is absent from the others."""
    known = absent | set(present)
    return absent | {name for name in _variants() if name.split("@")[0] in known and name not in present}


@lru_cache(maxsize=1)
def _variants() -> frozenset[str]:
    """`slug@role`, the finding in a series of that role, where some cause makes the difference."""
    return frozenset(name for cause in all_causes().values() for name in (*cause.brings, *cause.against) if "@" in name)
