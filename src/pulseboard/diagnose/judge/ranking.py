"""Ranking: which causes explain the evidence best, and how probable each is.

One cause is assumed: a training has one fault far more often than two. Each piece of evidence adds the logarithm of how
much more often the cause shows it than faults in general do (naive Bayes). Evidence is correlated, so the sum is
tempered; both factors were chosen on trainings that the weights had not seen. Probabilities of all causes, and of
"nothing is wrong" while there are only notes, sum to 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pulseboard.core.finding import Finding, NextCheck, RankedCause
from pulseboard.diagnose.facts.signs.sign import PREFIX, all_signs
from pulseboard.diagnose.judge.causes import Cause, all_causes, causes_with, learned_weights
from pulseboard.diagnose.judge.conditions import CauseConditions
from pulseboard.diagnose.judge.evidence import SIGN, evidence_of

# How often a finding appears although the cause does not bring it, by severity; learned rates take precedence.
_UNEXPECTED = {"critical": 0.005, "warning": 0.01, "info": 0.04}
# How often any fault shows a piece of evidence that was never seen in a training.
_USUAL = 0.1
# What hardly any training showed is not rarer than this: a rate that is a little above nothing says nothing.
_LEAST_USUAL = 0.03
# How much of the sum of logarithms counts, because evidence is correlated. A sign that is apart counts in full.
_TEMPER = {"finding": 0.5, SIGN: 0.35, "apart": 1.0}
# How much of that counts if evidence is absent: faults vary in strength, and a weak one shows half of its evidence.
_ABSENT = {"finding": 0.6, SIGN: 0.6, "apart": 1.0}
# No single piece of evidence multiplies or divides the odds by more than this.
_MOST_FACTOR = 30.0
# All absent findings together divide the odds by no more than this: findings of a cause are often alternatives.
_MOST_AGAINST = 30.0
# The probability that nothing is wrong with a run that has only notes, before any evidence.
_NOTHING_WRONG = 0.5
# A cause is this much less likely if a finding contradicts it, and if the problem began at the wrong time.
_CONTRADICTED = 0.05
_WRONG_TIME = 0.3
# A cause that brings none of the alarms, each at least this often, is this much less likely: signs alone are common.
_EXPLAINS = 0.03
_UNEXPLAINED = 0.1
# The same for a finding that leaves the others without meaning: what follows a NaN says nothing about its cause.
_ECLIPSING = "loss-nan"
_OF_NAN = frozenset({"loss-nan", "gradient-nan", "nan-masked", "loss-scale-collapse", "steps-skipped"})
_BLOWS_UP = frozenset(
    "loss-diverged loss-spike loss-drift-up loss-level-shift loss-oscillating batch-outlier gradient-exploding"
    " gradient-spike weights-exploding update-too-large lr-jump lr-no-warmup data-shift resume-discontinuity"
    " value-diverged policy-update-too-large moe-zloss-high gpu-fault".split()
)
_CANNOT_BREAK = 0.02
_MOST_CAUSES = 3
# Less probable causes are not listed; the first one always is if something is wrong.
_LEAST_PROBABLE = 0.02
# Evidence that changes the odds by less is not worth a word.
_WORTH_A_WORD = math.log(1.5)
# While there are only notes, a cause is named only if some evidence changes its odds by this or more.
_SPEAKS_FOR = math.log(1.2)
_MOST_SIGNS = 3

NOTHING = ""  # among the causes: nothing is wrong


def rank_causes(
    findings: Sequence[Finding],
    absent: Iterable[str],
    conditions: CauseConditions,
    signs: Mapping[str, bool] | None = None,
    *,
    weights: Mapping[str, Any] | None = None,
) -> tuple[tuple[RankedCause, ...], NextCheck | None]:
    """At most three causes that would explain what is seen, and the check that settles the first.

    Of causes that curves cannot tell apart, the most likely one is named, with the probability of all of them.
    `weights` replaces weights.toml while weights are being learned.
    """
    if not findings and not signs:
        return (), None
    ranking = _Ranking(findings, absent, conditions, signs or {}, weights)
    top = ranking.top()
    return top, _next_check(top, ranking.causes)


def probabilities(
    findings: Sequence[Finding],
    absent: Iterable[str],
    conditions: CauseConditions,
    signs: Mapping[str, bool],
    *,
    weights: Mapping[str, Any] | None = None,
) -> dict[str, float]:
    """The probability of every possible cause, and of NOTHING. They sum to 1."""
    return _Ranking(findings, absent, conditions, signs, weights).posterior


class _Ranking:
    """The causes of one run, with what each piece of evidence says about them."""

    def __init__(
        self,
        findings: Sequence[Finding],
        absent: Iterable[str],
        conditions: CauseConditions,
        signs: Mapping[str, bool],
        weights: Mapping[str, Any] | None,
    ) -> None:
        known = learned_weights() if weights is None else weights
        everything = all_causes() if weights is None else causes_with(weights)
        self.usual: Mapping[str, float] = known.get("usual", {})
        self.healthy: Mapping[str, float] = known.get("healthy", {})
        self.present, self.missing = evidence_of(*before_nan(findings, absent, signs))
        self.alarms = [name for name, severity in self.present.items() if severity in ("warning", "critical")]
        self.causes = {slug: cause for slug, cause in everything.items() if self._possible(cause, conditions)}
        self.conditions = conditions
        self.posterior = self._posterior()

    def _possible(self, cause: Cause, conditions: CauseConditions) -> bool:
        """Whether no fact excludes it. An event, or what leaves curves healthy, must show in evidence of its own."""
        if not cause.possible(conditions):
            return False
        if cause.looks_healthy and self.alarms and not self._explains(cause):
            return False  # a slow machine is not why a model overfits
        if not cause.looks_healthy and cause.begins != "middle":
            return True
        return self._is_supported(cause, by=_WORTH_A_WORD)

    def _posterior(self) -> dict[str, float]:
        scores = {slug: self._score(cause) for slug, cause in self.causes.items()}
        # With a warning, something is wrong; with notes only, possibly nothing is.
        if not self.alarms:
            prior = _NOTHING_WRONG / (1 - _NOTHING_WRONG) * sum(cause.prior for cause in self.causes.values())
            scores[NOTHING] = math.log(prior) + self._sum(self.healthy)
        best = max(scores.values())
        total = sum(math.exp(score - best) for score in scores.values())
        return {slug: math.exp(score - best) / total for slug, score in scores.items()}

    def _score(self, cause: Cause) -> float:
        score = math.log(cause.prior) + self._sum(self.rates_of(cause))
        for finding in cause.against:
            if self.present.get(finding, "info") not in ("info", SIGN):
                score += math.log(_CONTRADICTED)
        if self.conditions.begins and cause.begins not in ("any", self.conditions.begins):
            score += math.log(_WRONG_TIME)
        if self.alarms and not self._explains(cause):
            score += math.log(_UNEXPLAINED)
        if self.present.get(_ECLIPSING) == "critical" and cause.brings.get(_ECLIPSING, 0.0) < _EXPLAINS:
            score += math.log(_CANNOT_BREAK)
        return score

    def rates_of(self, cause: Cause) -> Mapping[str, float]:
        """How often the cause shows each piece of evidence."""
        return {**self.healthy, **cause.brings} if cause.looks_healthy else cause.brings

    def _explains(self, cause: Cause) -> bool:
        """Whether a cause brings one of the alarms often enough to be named for it."""
        return any(cause.brings.get(name, 0.0) >= _EXPLAINS for name in self.alarms)

    def _sum(self, rates: Mapping[str, float]) -> float:
        """The scaled-down logarithm of the likelihood ratio of all evidence."""
        there = sum(self.weight_of(name, rates) for name in self.present)
        away = [self.weight_of(name, rates) for name in self.missing if name.startswith(PREFIX)]
        absent = sum(self.weight_of(name, rates) for name in self.missing if not name.startswith(PREFIX))
        return there + sum(away) + max(absent, -math.log(_MOST_AGAINST))

    def weight_of(self, name: str, rates: Mapping[str, float]) -> float:
        """What one piece of evidence, present or absent, adds to the logarithm of the odds."""
        is_sign = name.startswith(PREFIX)
        usual = max(_LEAST_USUAL, self.usual.get(name, _USUAL)) if is_sign else self.usual.get(name, _USUAL)
        rate = rates.get(name)
        if name in self.present:
            if rate is None:
                rate = usual if is_sign else min(_UNEXPECTED[self.present[name]], usual)
            ratio = rate / usual
        else:
            if rate is None:
                rate = usual if is_sign else min(_UNEXPECTED["info"], usual)
            ratio = (1.0 - rate) / (1.0 - usual)
        limited = max(-math.log(_MOST_FACTOR), min(math.log(_MOST_FACTOR), math.log(max(ratio, 1e-9))))
        kind = "finding" if not is_sign else "apart" if all_signs()[name].apart else SIGN
        return _TEMPER[kind] * (1.0 if name in self.present else _ABSENT[kind]) * limited

    def top(self) -> tuple[RankedCause, ...]:
        """The most probable families, each named by its most probable member.

        While there are only notes, nothing is named that no evidence speaks for.
        """
        families: dict[str, list[str]] = {}
        for slug in sorted(self.causes, key=lambda slug: (-self.posterior[slug], slug)):
            families.setdefault(self.causes[slug].family, []).append(slug)
        total = {slugs[0]: sum(self.posterior[slug] for slug in slugs) for slugs in families.values()}
        others = {slugs[0]: tuple(slugs[1:]) for slugs in families.values()}
        ranked = sorted(total, key=lambda slug: (-total[slug], slug))[:_MOST_CAUSES]
        if NOTHING in self.posterior:
            ranked = [slug for slug in ranked if self._is_supported(self.causes[slug], by=_SPEAKS_FOR)]
        return tuple(
            self._ranked(self.causes[slug], total[slug], others[slug])
            for i, slug in enumerate(ranked)
            if total[slug] >= _LEAST_PROBABLE or (i == 0 and NOTHING not in self.posterior)
        )

    def _is_supported(self, cause: Cause, *, by: float) -> bool:
        """Whether anything that is there speaks for the cause."""
        rates = self.rates_of(cause)
        return any(self.weight_of(name, rates) >= by for name in self.present)

    def _ranked(self, cause: Cause, probability: float, alike: tuple[str, ...]) -> RankedCause:
        weights = {name: self.weight_of(name, self.rates_of(cause)) for name in (*self.present, *sorted(self.missing))}
        speaks = [name for name, weight in weights.items() if weight >= _WORTH_A_WORD and name in self.present]
        findings = [name for name in speaks if not name.startswith(PREFIX)]
        # Only present signs are named: the absence of a sign fits too many causes to be worth mentioning.
        phrases = sorted((name for name in speaks if name.startswith(PREFIX)), key=lambda name: -weights[name])
        lacking = [
            name
            for name in self.missing
            if not name.startswith(PREFIX)
            and name.split("@")[0] not in self.present
            and cause.brings.get(name, 0.0) >= 0.5
        ]
        contradicting = [name for name in cause.against if name in self.present]
        return RankedCause(
            cause.slug,
            round(probability, 4),
            because=_plain(sorted(findings, key=lambda name: -weights[name])),
            against=_plain([*contradicting, *sorted(lacking)]),
            fixes=cause.fixes,
            signs=tuple(all_signs()[name].phrase for name in phrases[:_MOST_SIGNS]),
            alike=alike,
        )


def before_nan(
    findings: Sequence[Finding], absent: Iterable[str], signs: Mapping[str, bool]
) -> tuple[Sequence[Finding], Iterable[str], Mapping[str, bool]]:
    """What counts if the loss is NaN: what shook before it, and signs that do not follow from the curves after it."""
    broken = [one.first_step for one in findings if one.slug == _ECLIPSING and one.severity == "critical"]
    if not broken:
        return findings, absent, signs
    kept = [one for one in findings if one.slug in _OF_NAN or (one.slug in _BLOWS_UP and one.first_step < min(broken))]
    seen = [name for name in absent if name in _OF_NAN | _BLOWS_UP]
    return kept, seen, {name: is_so for name, is_so in signs.items() if all_signs()[name].apart}


def _plain(names: Iterable[str]) -> tuple[str, ...]:
    """Slugs without the role of their series, each once."""
    return tuple(dict.fromkeys(name.split("@")[0] for name in names))


def _next_check(top: Sequence[RankedCause], causes: Mapping[str, Cause]) -> NextCheck | None:
    """The check of the first cause."""
    if not top:
        return None
    first = top[0]
    why = f"this shows whether {first.slug} is the cause"
    if first.probability < 0.5 and len(top) > 1:
        why = (
            f"unclear between {first.slug} ({100 * first.probability:.0f} %) and {top[1].slug} "
            f"({100 * top[1].probability:.0f} %); {why}"
        )
    return NextCheck(causes[first.slug].check, why)
