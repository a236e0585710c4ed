"""Learns how often each cause shows each finding and sign, from trainings whose fault is known.

A weight is (k + S * prior) / (m + S), where the evidence could be seen in m trainings with this cause and was there in
k of them. The prior is what causes.toml says, halfway to what was learned before (earlier_weights.toml) where that is
known; else what faults usually show (signs) or a small number (findings). For causes whose curves look healthy it is
what healthy trainings show.
"""

import json
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from pulseboard.core.finding import Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.cases import Training, case_of, trainings
from pulseboard.diagnose.detector import run_detectors
from pulseboard.diagnose.facts.signs.sign import all_signs, signs_of
from pulseboard.diagnose.judge.causes import causes_with
from pulseboard.diagnose.judge.conditions import CauseConditions
from pulseboard.diagnose.judge.evidence import evidence_of
from pulseboard.diagnose.judge.ranking import before_nan, probabilities, rank_causes
from pulseboard.read.runs import read
from zoo.fault import all_faults
from zoo.plan import HEALTHY, leave_one_base_out, planned_trainings
from zoo.score import INDISTINGUISHABLE
from zoo.views import VIEWS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# How many trainings the prior is worth (4 to 128 were compared), and how often a finding appears unexpectedly.
STRENGTH = 64.0
UNEXPECTED = 0.03
# How much of a training counts for causes that its curves allow but that were not what was done.
ALSO_ALLOWED = 0.25
# A sign whose rate is this near the usual one says nothing.
SAME_RATE = 0.1


@dataclass(frozen=True)
class Sample:
    """One training: what was seen, what was looked for and is absent, and what is really wrong with it."""

    name: str
    base: str
    logged: str  # how it was logged: a view of the own zoo, or the logger of another framework
    causes: tuple[str, ...]  # what was done first, then what curves cannot tell from it; empty: healthy
    accepted: frozenset[str]  # slugs of correct findings
    findings: tuple[Finding, ...]
    absent: frozenset[str]
    signs: dict[str, bool]
    conditions: CauseConditions
    is_new: bool = False  # of a base that earlier_weights.toml was not learned from

    @cached_property
    def evidence(self) -> tuple[set[str], set[str]]:
        """Present and missing evidence."""
        present, missing = evidence_of(*before_nan(self.findings, self.absent, self.signs))
        return set(present), set(missing)

    @property
    def found(self) -> bool:
        """Whether a warning or worse matches the fault."""
        return any(f.severity != "info" and f.slug in self.accepted for f in self.findings)


def samples_of_own(directory: Path) -> Iterator[Sample]:
    """The tuning part of the own zoo, as it was logged and as a stranger would log it."""
    faults = all_faults()
    for one in planned_trainings():
        if one.held_out or not (directory / f"{one.name}.done").exists():
            continue
        fault = None if one.fault == HEALTHY else faults[one.fault]
        healthy = fault is None or fault.decoy or fault.visible == "no"
        groups = [] if healthy else [group for group in INDISTINGUISHABLE if fault.cause in group]
        causes = (
            () if healthy else tuple(dict.fromkeys([fault.cause, *fault.equivalent, *sorted(set().union(*groups))]))
        )
        accepted = frozenset() if healthy else frozenset(fault.accepted)
        for training in list(trainings(read(directory / one.name)))[:1]:
            for name in ("", "ordinary metrics only", "foreign names"):
                if name and not healthy and VIEWS[name].hides.issuperset(fault.accepted):
                    continue
                seen = VIEWS[name].of(training, one) if name else training
                yield sample_of(one.name, one.base, name or "as it was", causes, accepted, case_of(seen))


def samples_of_foreign(directory: Path, *, is_new: bool = False) -> Iterator[Sample]:
    """Trainings by other frameworks, or small ones, without what is held out."""
    for path in sorted((directory / "truth").glob("*.json")):
        truth = json.loads(path.read_text(encoding="utf-8"))
        if truth.get("held_out"):
            continue
        causes = tuple(truth["causes"]) if truth["visible"] else ()
        accepted = frozenset(truth["findings"]) if truth["visible"] else frozenset()
        found = sorted(trainings(read(directory / "runs" / truth["name"])), key=lambda one: -points_of(one))
        for training in found[:1]:
            sample = sample_of(truth["name"], truth["base"], truth["log"], causes, accepted, case_of(training))
            yield replace(sample, is_new=is_new)


def points_of(training: Training) -> int:
    """How many points it has."""
    return sum(len(run.series(tag)) for _, run in training.parts for tag in run.tags("scalar"))


def sample_of(
    name: str, base: str, logged: str, causes: tuple[str, ...], accepted: frozenset[str], case: Case
) -> Sample:
    seen = run_detectors(case)
    findings = tuple(seen.findings)
    conditions = CauseConditions.of(case, findings)
    return Sample(name, base, logged, causes, accepted, findings, frozenset(seen.absent), signs_of(case), conditions)


def learn(samples: Iterable[Sample], *, before: dict | None = None) -> dict[str, dict]:
    """The tables of weights.toml. `before` has weights that were learned from other trainings."""
    known, seen, there = causes_with({}), defaultdict(Counter), defaultdict(Counter)
    for sample in samples:
        present, missing = sample.evidence
        possible = [cause for cause in sample.causes if cause in known and known[cause].possible(sample.conditions)]
        # What was done counts most; the causes that look the same are taught too.
        shares = {cause: (1.0 if i == 0 else ALSO_ALLOWED) for i, cause in enumerate(possible)}
        names = {**shares, "usual": 1.0} if sample.causes else {"healthy": 1.0}
        for name, share in names.items():
            for evidence in present | missing:
                seen[name][evidence] += share
                there[name][evidence] += share * (evidence in present)
    usual = dict((before or {}).get("usual", {}))
    usual |= {name: (there["usual"][name] + 0.5) / (count + 1.0) for name, count in seen["usual"].items()}
    healthy = _rates({}, usual, there["healthy"], seen["healthy"])
    rates = {}
    for slug, cause in known.items():
        prior = _halfway(cause.brings, (before or {}).get("causes", {}).get(slug, {}))
        counted = seen[slug]
        if cause.looks_healthy:
            counted = Counter({name: n for name, n in counted.items() if name in cause.brings})
            prior = {name: rate for name, rate in prior.items() if name in cause.brings}
        if before or counted:
            # What is left out here, a cause takes from those that look the same.
            learned = _rates(prior, usual, there[slug], counted, leave_out=not cause.alike)
            rates[slug] = dict(sorted({**_rounded(prior), **learned}.items()))
    return {
        "causes": {slug: some for slug, some in sorted(rates.items()) if some},
        "usual": {name: round(rate, 3) for name, rate in sorted(usual.items())},
        "healthy": healthy,
    }


def _halfway(written: Mapping[str, float], learned: Mapping[str, float]) -> dict[str, float]:
    """What people wrote and what was learned, halfway between their log odds where both are known."""
    both = {
        name: _rate_of((_log_odds(written[name]) + _log_odds(rate)) / 2)
        for name, rate in learned.items()
        if name in written
    }
    return {**written, **learned, **both}


def _log_odds(rate: float) -> float:
    return math.log(rate / (1 - rate))


def _rate_of(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))


def _rounded(rates: Mapping[str, float]) -> dict[str, float]:
    return {name: round(min(0.98, max(0.005, rate)), 3) for name, rate in rates.items()}


def _rates(
    prior: Mapping[str, float], usual: Mapping[str, float], there: Counter, seen: Counter, *, leave_out: bool = True
) -> dict[str, float]:
    """The learned rates, without those that say no more than what is known anyway."""
    found = {}
    for name, count in sorted(seen.items()):
        is_sign, common = name in all_signs(), usual.get(name, 0.1)
        guess = prior.get(name, common if is_sign else min(UNEXPECTED, common))
        rate = (there[name] + STRENGTH * guess) / (count + STRENGTH)
        if name in prior or (not leave_out or _differs(rate, common) if is_sign else there[name] > 0):
            found[name] = rate
    return _rounded(found)


def _differs(rate: float, common: float) -> bool:
    ratios = (rate / common, (1 - rate) / (1 - common))
    return any(abs(math.log(ratio)) >= SAME_RATE for ratio in ratios)


# ---- the score


@dataclass(frozen=True)
class Answer:
    """What weights say about one faulty training that they were not learned from."""

    sample: Sample
    first: str
    family: tuple[str, ...]  # the first cause and those that curves cannot tell from it
    probability: float  # of the first cause
    given_to_truth: float  # the probability of all causes that the truth allows

    @property
    def right(self) -> bool:
        """Whether the first cause is one that the truth allows."""
        return self.first in self.sample.causes


def answer(sample: Sample, weights: dict) -> Answer:
    """The first cause by these weights."""
    given = (sample.findings, sample.absent, sample.conditions, sample.signs)
    named, _ = rank_causes(*given, weights=weights)
    posterior = probabilities(*given, weights=weights)
    truth = sum(posterior.get(cause, 0.0) for cause in sample.causes)
    if not named:
        return Answer(sample, "", (), 0.0, truth)
    return Answer(sample, named[0].slug, (named[0].slug, *named[0].alike), named[0].probability, truth)


def answers(samples: list[Sample]) -> list[Answer]:
    """Each faulty training with weights that were learned without its base, now and before."""
    found = []
    for _, others, group in leave_one_base_out(samples, base_of=lambda sample: sample.base):
        weights = learn(others, before=earlier_weights() if all(one.is_new for one in group) else None)
        found += [answer(sample, weights) for sample in group if sample.causes]
    return found


def as_toml(tables: dict) -> str:
    """The tables as weights.toml."""
    lines = ["# Learned by `python -m zoo causes` from trainings with known faults. Do not edit.", ""]
    for cause, weights in tables["causes"].items():
        lines += [f"[causes.{cause}]", *(f'"{name}" = {weight}' for name, weight in weights.items()), ""]
    for name in ("usual", "healthy"):
        lines += [f"[{name}]", *(f'"{evidence}" = {rate}' for evidence, rate in tables[name].items()), ""]
    return "\n".join(lines)


WEIGHTS = Path(__file__).parents[2] / "src/pulseboard/diagnose/judge/weights.toml"


def earlier_weights() -> dict:
    """Rates that were learned from trainings that are not at hand."""
    return tomllib.loads((Path(__file__).parent / "earlier_weights.toml").read_text(encoding="utf-8"))
