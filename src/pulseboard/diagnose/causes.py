"""Causes: a small network from causes to findings, asked the other way round.

A cause brings each of its findings with a probability, independently (noisy-OR); a finding may also come from nothing
(its leak). Up to two causes at a time are considered, all exactly. What could not be observed counts neither way.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from pulseboard.core.finding import Finding, NextCheck, RankedCause
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.roles import possible_roles

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# How often a finding comes in a run where nothing brings it: warnings rarely, infos often.
_LEAK = {"critical": 0.003, "warning": 0.01, "info": 0.25}
# A cause is this much less likely where a finding contradicts it, and where it begins at the wrong time.
_CONTRADICTED = 0.05
_WRONG_TIME = 0.2
_PREFERRED = 3.0
_LEAST_WHERE_ABSENT = 0.03
_MOST_CAUSES = 3
_CHECK_IS_RIGHT = 0.9  # how often a check settles its question


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause as causes.toml has it."""

    slug: str
    title: str
    prior: float
    begins: str
    brings: Mapping[str, float]
    against: tuple[str, ...]
    check: str
    minutes: float
    fixes: tuple[str, ...]
    needs: str = ""
    prefers: str = ""
    alike: str = ""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What must be so for some causes to be possible. None: not known, which forbids nothing."""

    plain_optimizer: bool | None
    unclipped: bool | None
    low_precision: bool | None
    self_supervised: bool
    experts: bool
    resumed: bool
    ranks: bool
    begins: str  # "start" or "middle": when the first grave finding began

    @classmethod
    def of(cls, case: Case, findings: Sequence[Finding]) -> Surroundings:
        """Read off a case and what was found in it."""
        context = case.context
        precision = context.precision
        roles = case.reading.tags
        return cls(
            plain_optimizer=None if context.adaptive is None else not context.adaptive,
            unclipped=None if context.clip_norm is None else False,
            low_precision=None if precision is None else any(w in precision for w in ("16", "half", "true", "fp8")),
            self_supervised=any(role.startswith(("ema.", "collapse.", "mask.", "prediction.")) for role in roles),
            experts=any(role.startswith("moe.") for role in roles) or context.experts is not None,
            resumed=bool(case.restarts),
            ranks=len(case.ranks) > 1 or context.world_size > 1,
            begins=_begins(case, findings),
        )


def _begins(case: Case, findings: Sequence[Finding]) -> str:
    grave = [f for f in findings if f.severity != "info"] or list(findings)
    span = case.steps
    if not grave or span is None or span[1] <= span[0]:
        return "start"
    first = min(finding.first_step for finding in grave)
    return "middle" if (first - span[0]) / (span[1] - span[0]) > 0.3 else "start"


@lru_cache(maxsize=1)
def all_causes() -> Mapping[str, Cause]:
    """Every cause by its slug."""
    text = resources.files("pulseboard.diagnose").joinpath("causes.toml").read_text(encoding="utf-8")
    return {slug: _cause(slug, table) for slug, table in tomllib.loads(text).items()}


def _cause(slug: str, table: Mapping[str, Any]) -> Cause:
    return Cause(
        slug=slug,
        title=table["title"],
        prior=float(table["prior"]),
        begins=table["begins"],
        brings={finding: float(weight) for finding, weight in table["for"].items()},
        against=tuple(table["against"]),
        check=table["check"]["do"],
        minutes=float(table["check"]["minutes"]),
        fixes=tuple(table["fixes"]),
        needs=table.get("needs", ""),
        prefers=table.get("prefers", ""),
        alike=table.get("alike", ""),
    )


def rank_causes(
    findings: Sequence[Finding], absent: Iterable[str], surroundings: Surroundings
) -> tuple[tuple[RankedCause, ...], NextCheck | None]:
    """At most three causes that would explain the findings, and the check that would tell most about which it is."""
    present = _strongest(findings)
    if not any(severity != "info" for severity in present.values()):
        return (), None
    missing = _missing(set(absent) - set(present), present)
    possible = {slug: cause for slug, cause in all_causes().items() if _possible(cause, surroundings)}
    posterior = _posterior(possible, present, missing, surroundings)
    ranked = sorted(posterior, key=lambda slug: (-posterior[slug], slug))
    top = tuple(
        RankedCause(
            slug,
            round(posterior[slug], 4),
            because=_plain(f for f in present if possible[slug].brings.get(f, 0.0) >= 0.1),
            against=_plain(
                f
                for f in (*possible[slug].against, *possible[slug].brings)
                if (f in present and f in possible[slug].against)
                or (f in missing and f.split("@")[0] not in present and possible[slug].brings.get(f, 0.0) >= 0.5)
            ),
            fixes=possible[slug].fixes,
        )
        for slug in ranked[:_MOST_CAUSES]
        if posterior[slug] >= 0.02
    )
    return top, _next_check(top, possible, posterior)


def _plain(names: Iterable[str]) -> tuple[str, ...]:
    """Slugs without the role of the series they were seen in, each once."""
    return tuple(dict.fromkeys(name.split("@")[0] for name in names))


def _strongest(findings: Iterable[Finding]) -> dict[str, str]:
    """Finding -> the gravest severity it came with."""
    order = ("info", "warning", "critical")
    present: dict[str, str] = {}
    for finding in findings:
        for name in (finding.slug, *(f"{finding.slug}@{role}" for role in possible_roles(finding.metric))):
            if name in _asked_for() and order.index(finding.severity) >= order.index(present.get(name, "info")):
                present[name] = finding.severity
    return present


def _missing(absent: set[str], present: Mapping[str, str]) -> set[str]:
    """What is surely not there: a finding seen in one series is not seen in another."""
    variants = {name for name in _asked_for() if "@" in name}
    apart = {name for name in variants if name.split("@")[0] in absent | set(present) and name not in present}
    return absent | apart


@lru_cache(maxsize=1)
def _asked_for() -> frozenset[str]:
    """Findings that some cause speaks of; `slug@role` is the finding in a series of that role."""
    named = {name for cause in all_causes().values() for name in (*cause.brings, *cause.against)}
    return frozenset(named | {name.split("@")[0] for name in named})


def _possible(cause: Cause, surroundings: Surroundings) -> bool:
    return not cause.needs or getattr(surroundings, cause.needs) is not False


def _posterior(
    causes: Mapping[str, Cause], present: Mapping[str, str], missing: set[str], surroundings: Surroundings
) -> dict[str, float]:
    """How probable each cause is, over all sets of one or two causes."""
    weights: list[tuple[tuple[str, ...], float]] = []
    factors = {slug: _log_prior(cause, present, surroundings) for slug, cause in causes.items()}
    absences = {slug: _log_absences(cause, missing) for slug, cause in causes.items()}
    for size in (1, 2):
        for chosen in itertools.combinations(causes, size):
            score = sum(factors[slug] for slug in chosen)
            for finding, severity in present.items():
                stays_away = 1.0 - _LEAK[severity]
                for slug in chosen:
                    stays_away *= 1.0 - causes[slug].brings.get(finding, 0.0)
                score += math.log(max(1e-12, 1.0 - stays_away))
            score += sum(absences[slug] for slug in chosen)
            weights.append((chosen, score))
    best = max(score for _, score in weights)
    total = sum(math.exp(score - best) for _, score in weights)
    posterior = dict.fromkeys(causes, 0.0)
    for chosen, score in weights:
        share = math.exp(score - best) / total
        for slug in chosen:
            posterior[slug] += share
    return posterior


def _log_absences(cause: Cause, missing: set[str]) -> float:
    """What the absence of its findings takes from a cause. Bounded: signs are alternatives as often as companions."""
    taken = sum(math.log(max(1e-6, 1.0 - cause.brings[finding])) for finding in missing & cause.brings.keys())
    return max(taken, math.log(_LEAST_WHERE_ABSENT))


def _log_prior(cause: Cause, present: Mapping[str, str], surroundings: Surroundings) -> float:
    odds = cause.prior
    for finding in cause.against:
        if present.get(finding, "info") != "info":
            odds *= _CONTRADICTED
    if cause.begins != "any" and cause.begins != surroundings.begins:
        odds *= _WRONG_TIME
    if cause.prefers and getattr(surroundings, cause.prefers):
        odds *= _PREFERRED
    elif cause.prefers and getattr(surroundings, cause.prefers) is False:
        odds /= _PREFERRED
    return math.log(odds)


def _next_check(
    top: Sequence[RankedCause], causes: Mapping[str, Cause], posterior: Mapping[str, float]
) -> NextCheck | None:
    """The check with the most information a minute: one that settles a question that is open."""
    if not top:
        return None

    def worth(slug: str) -> float:
        p = min(0.999, max(0.001, posterior[slug]))
        yes = p * _CHECK_IS_RIGHT + (1 - p) * (1 - _CHECK_IS_RIGHT)
        gain = _bits(yes) - _bits(_CHECK_IS_RIGHT)
        return gain / math.log2(2 + causes[slug].minutes)

    first = top[0]
    # A cause that is all but certain is confirmed; else the open question is asked.
    best = first.slug if first.probability >= _CHECK_IS_RIGHT else max((cause.slug for cause in top), key=worth)
    if first.probability < 0.5 and len(top) > 1:
        why = (
            f"unclear between {first.slug} ({100 * first.probability:.0f} %) and {top[1].slug} "
            f"({100 * top[1].probability:.0f} %); this tells whether it is {best}"
        )
    else:
        why = f"it tells whether {best} is the cause"
    return NextCheck(causes[best].check, why)


def _bits(p: float) -> float:
    return -(p * math.log2(p) + (1 - p) * math.log2(1 - p))
