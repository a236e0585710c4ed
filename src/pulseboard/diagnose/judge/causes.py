"""Causes: a small Bayesian network from causes to evidence, used to infer causes from evidence.

A cause produces each piece of evidence with a probability, independently of the others (noisy-OR). Evidence may also
appear without any cause (its leak). Evidence is findings and signs (facts/signs.py). All sets of no, one or two causes
are scored exactly. What could not be observed counts neither way.

causes.toml holds expert knowledge about each cause. weights.toml holds weights learned from trainings with known faults
(`python -m zoo causes`), which take precedence.
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

from pulseboard.core.finding import SEVERITIES, Finding, NextCheck, RankedCause
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.roles.resolve import possible_roles

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# How often evidence appears in a run without any cause, unless weights.toml has measured it.
_LEAK = {"critical": 0.003, "warning": 0.01, "info": 0.25, "sign": 0.2}
# The probability that nothing is wrong, before any evidence.
_NOTHING_WRONG = 0.5
# A cause is this much less likely if a finding contradicts it, and if the problem began at the wrong time.
_CONTRADICTED = 0.05
_WRONG_TIME = 0.2
_PREFERRED = 3.0
_LEAST_WHERE_ABSENT = 0.03
_MOST_CAUSES = 3
_CHECK_IS_RIGHT = 0.9  # how often a check settles its question


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause, as in causes.toml."""

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
class CauseConditions:
    """What some causes require to be possible. None means unknown, which excludes nothing."""

    plain_optimizer: bool | None
    unclipped: bool | None
    low_precision: bool | None
    self_supervised: bool
    experts: bool
    resumed: bool
    ranks: bool
    begins: str  # "start" or "middle": when the first warning or critical finding began

    @classmethod
    def of(cls, case: Case, findings: Sequence[Finding]) -> CauseConditions:
        """From a case and its findings."""
        context = case.context
        roles = case.reading.tags
        return cls(
            plain_optimizer=None if context.adaptive is None else not context.adaptive,
            unclipped=None if context.clip_norm is None else False,
            low_precision=_low_precision(case),
            self_supervised=any(role.startswith(("ema.", "collapse.", "mask.", "prediction.")) for role in roles),
            experts=any(role.startswith("moe.") for role in roles) or context.experts is not None,
            resumed=bool(case.restarts),
            ranks=len(case.ranks) > 1 or context.world_size > 1,
            begins=_begins(case, findings),
        )


def _low_precision(case: Case) -> bool | None:
    """From the config, or because a loss scale is logged."""
    if case.every("amp.loss_scale"):
        return True
    precision = case.context.precision
    return None if precision is None else any(word in precision for word in ("16", "half", "true", "fp8"))


def _begins(case: Case, findings: Sequence[Finding]) -> str:
    severe = [f for f in findings if f.severity != "info"] or list(findings)
    span = case.steps
    if not severe or span is None or span[1] <= span[0]:
        return "start"
    first = min(finding.first_step for finding in severe)
    return "middle" if (first - span[0]) / (span[1] - span[0]) > 0.3 else "start"


@lru_cache(maxsize=1)
def all_causes() -> Mapping[str, Cause]:
    """Every cause by its slug."""
    return causes_with(learned_weights())


def causes_with(weights: Mapping[str, Any]) -> Mapping[str, Cause]:
    """Every cause, with learned weights in place of those from causes.toml."""
    learned = weights.get("causes", {})
    return {slug: _cause(slug, table, learned.get(slug, {})) for slug, table in _load("causes.toml").items()}


def _load(name: str) -> dict[str, Any]:
    text = resources.files("pulseboard.diagnose.judge").joinpath(name).read_text(encoding="utf-8")
    return tomllib.loads(text)


@lru_cache(maxsize=1)
def learned_weights() -> Mapping[str, Any]:
    """The tables of weights.toml: weights by cause, and leaks."""
    return _load("weights.toml")


def _leak(leaks: Mapping[str, float], evidence: str, severity: str) -> float:
    measured = leaks.get(evidence)
    # A warning always needs a cause, however often its finding is only info in healthy runs.
    if measured is None or severity in ("warning", "critical"):
        return _LEAK[severity]
    return float(measured)


def _cause(slug: str, table: Mapping[str, Any], learned: Mapping[str, float]) -> Cause:
    return Cause(
        slug=slug,
        title=table["title"],
        prior=float(table["prior"]),
        begins=table["begins"],
        brings={name: float(weight) for name, weight in {**table["for"], **learned}.items()},
        against=tuple(table["against"]),
        check=table["check"]["do"],
        minutes=float(table["check"]["minutes"]),
        fixes=tuple(table["fixes"]),
        needs=table.get("needs", ""),
        prefers=table.get("prefers", ""),
        alike=table.get("alike", ""),
    )


def rank_causes(
    findings: Sequence[Finding],
    absent: Iterable[str],
    conditions: CauseConditions,
    signs: Mapping[str, bool] | None = None,
    *,
    weights: Mapping[str, Any] | None = None,
) -> tuple[tuple[RankedCause, ...], NextCheck | None]:
    """At most three causes that would explain the findings, and the check that best separates them.

    `weights` replaces weights.toml while weights are being learned.
    """
    if not findings:
        return (), None
    leaks = (learned_weights() if weights is None else weights).get("leaks", {})
    known = all_causes() if weights is None else causes_with(weights)
    present, missing = evidence_of(findings, absent, signs or {})
    possible = {slug: cause for slug, cause in known.items() if _possible(cause, conditions)}
    posterior = _posterior(possible, present, missing, conditions, leaks)
    ranked = sorted(posterior, key=lambda slug: (-posterior[slug], slug))
    top = tuple(
        RankedCause(
            slug,
            round(posterior[slug], 4),
            because=_plain(
                f for f in present if not f.startswith("sign:") and possible[slug].brings.get(f, 0.0) >= 0.1
            ),
            against=_plain(
                f
                for f in (*possible[slug].against, *possible[slug].brings)
                if not f.startswith("sign:")
                if (f in present and f in possible[slug].against)
                or (f in missing and f.split("@")[0] not in present and possible[slug].brings.get(f, 0.0) >= 0.5)
            ),
            fixes=possible[slug].fixes,
        )
        for slug in ranked[:_MOST_CAUSES]
        if posterior[slug] >= 0.02
    )
    return top, _next_check(top, possible, posterior)


def evidence_of(
    findings: Sequence[Finding], absent: Iterable[str], signs: Mapping[str, bool]
) -> tuple[dict[str, str], set[str]]:
    """The evidence that is present, with its severity, and the evidence that was looked for and is absent."""
    present = _strongest(findings)
    missing = _missing(set(absent) - set(present), present)
    present |= {name: "sign" for name, is_so in signs.items() if is_so}
    missing |= {name for name, is_so in signs.items() if not is_so}
    return present, missing


def _plain(names: Iterable[str]) -> tuple[str, ...]:
    """Slugs without the role of their series, each once."""
    return tuple(dict.fromkeys(name.split("@")[0] for name in names))


def _strongest(findings: Iterable[Finding]) -> dict[str, str]:
    """Finding -> its highest severity."""
    order = SEVERITIES
    present: dict[str, str] = {}
    for finding in findings:
        for name in (finding.slug, *(f"{finding.slug}@{role}" for role in possible_roles(finding.metric))):
            if name in _asked_for() and order.index(finding.severity) >= order.index(present.get(name, "info")):
                present[name] = finding.severity
    return present


def _missing(absent: set[str], present: Mapping[str, str]) -> set[str]:
    """What is known to be absent: a finding in one series is absent from the others."""
    variants = {name for name in _asked_for() if "@" in name}
    apart = {name for name in variants if name.split("@")[0] in absent | set(present) and name not in present}
    return absent | apart


@lru_cache(maxsize=1)
def _asked_for() -> frozenset[str]:
    """Findings that some cause mentions; `slug@role` is the finding in a series of that role."""
    named = {name for cause in all_causes().values() for name in (*cause.brings, *cause.against)}
    return frozenset(named | {name.split("@")[0] for name in named})


def _possible(cause: Cause, conditions: CauseConditions) -> bool:
    if cause.needs and getattr(conditions, cause.needs) is False:
        return False
    # Without any sign of low precision, nothing can underflow.
    return cause.needs != "low_precision" or conditions.low_precision is True


def _posterior(
    causes: Mapping[str, Cause],
    present: Mapping[str, str],
    missing: set[str],
    conditions: CauseConditions,
    leaks: Mapping[str, float],
) -> dict[str, float]:
    """The probability of each cause, over all sets of up to two causes."""
    weights: list[tuple[tuple[str, ...], float]] = []
    factors = {slug: _log_prior(cause, present, conditions) for slug, cause in causes.items()}
    absences = {slug: _log_absences(cause, missing) for slug, cause in causes.items()}
    # With a warning, something is wrong; with info only, possibly nothing is.
    alarm = any(severity in ("warning", "critical") for severity in present.values())
    for size in (1, 2) if alarm else (0, 1, 2):
        for chosen in itertools.combinations(causes, size):
            score = sum(factors[slug] for slug in chosen) if chosen else math.log(_NOTHING_WRONG)
            for finding, severity in present.items():
                stays_away = 1.0 - _leak(leaks, finding, severity)
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
    """How much absent findings count against a cause. Bounded, since findings are often alternatives."""
    taken = sum(math.log(max(1e-6, 1.0 - cause.brings[finding])) for finding in missing & cause.brings.keys())
    return max(taken, math.log(_LEAST_WHERE_ABSENT))


def _log_prior(cause: Cause, present: Mapping[str, str], conditions: CauseConditions) -> float:
    odds = cause.prior
    for finding in cause.against:
        if present.get(finding, "info") not in ("info", "sign"):
            odds *= _CONTRADICTED
    if cause.begins != "any" and cause.begins != conditions.begins:
        odds *= _WRONG_TIME
    if cause.prefers and getattr(conditions, cause.prefers):
        odds *= _PREFERRED
    elif cause.prefers and getattr(conditions, cause.prefers) is False:
        odds /= _PREFERRED
    return math.log(odds)


def _next_check(
    top: Sequence[RankedCause], causes: Mapping[str, Cause], posterior: Mapping[str, float]
) -> NextCheck | None:
    """The check with the most information per minute."""
    if not top:
        return None

    def worth(slug: str) -> float:
        p = min(0.999, max(0.001, posterior[slug]))
        yes = p * _CHECK_IS_RIGHT + (1 - p) * (1 - _CHECK_IS_RIGHT)
        gain = _bits(yes) - _bits(_CHECK_IS_RIGHT)
        return gain / math.log2(2 + causes[slug].minutes)

    first = top[0]
    # If a cause is almost certain, confirm it; otherwise ask what separates the causes best.
    best = first.slug if first.probability >= _CHECK_IS_RIGHT else max((cause.slug for cause in top), key=worth)
    if first.probability < 0.5 and len(top) > 1:
        why = (
            f"unclear between {first.slug} ({100 * first.probability:.0f} %) and {top[1].slug} "
            f"({100 * top[1].probability:.0f} %); this shows whether it is {best}"
        )
    else:
        why = f"this shows whether {best} is the cause"
    return NextCheck(causes[best].check, why)


def _bits(p: float) -> float:
    return -(p * math.log2(p) + (1 - p) * math.log2(1 - p))
