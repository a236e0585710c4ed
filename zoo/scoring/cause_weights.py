"""Learns how often each cause shows each finding and sign, from trainings whose fault is known.

A weight is (k + S * prior) / (m + S), where the evidence could be seen in m trainings with this cause and was there in
k of them. The prior is what causes.toml says, else what faults usually show (signs) or a small number (findings).
"""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pulseboard.core.finding import Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.cases import case_of, trainings
from pulseboard.diagnose.detector import run_detectors
from pulseboard.diagnose.facts.signs.sign import PREFIX, all_signs, signs_of
from pulseboard.diagnose.judge.causes import causes_with, learned_weights
from pulseboard.diagnose.judge.conditions import CauseConditions
from pulseboard.diagnose.judge.evidence import evidence_of
from pulseboard.diagnose.judge.ranking import probabilities, rank_causes
from pulseboard.read.runs import read
from zoo.fault import all_faults
from zoo.plan import HEALTHY, leave_one_base_out, planned_trainings
from zoo.score import INDISTINGUISHABLE
from zoo.views import VIEWS

# How many trainings the knowledge of people is worth, and how often a finding appears that they do not expect.
STRENGTH = 4.0
UNEXPECTED = 0.03
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

    @cached_property
    def evidence(self) -> tuple[set[str], set[str]]:
        """Present and missing evidence."""
        present, missing = evidence_of(self.findings, self.absent, self.signs)
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
                yield _sample(one.name, one.base, name or "as it was", causes, accepted, case_of(seen))


def samples_of_foreign(directory: Path) -> Iterator[Sample]:
    """Trainings by other frameworks, without the held-out bases."""
    for path in sorted((directory / "truth").glob("*.json")):
        truth = json.loads(path.read_text(encoding="utf-8"))
        if truth.get("held_out"):
            continue
        causes = tuple(truth["causes"]) if truth["visible"] else ()
        accepted = frozenset(truth["findings"]) if truth["visible"] else frozenset()
        found = sorted(trainings(read(directory / "runs" / truth["name"])), key=lambda one: -_points(one))
        for training in found[:1]:
            yield _sample(truth["name"], truth["base"], truth["log"], causes, accepted, case_of(training))


def _points(training) -> int:
    return sum(len(run.series(tag)) for _, run in training.parts for tag in run.tags("scalar"))


def _sample(name: str, base: str, logged: str, causes: tuple[str, ...], accepted: frozenset[str], case: Case) -> Sample:
    seen = run_detectors(case)
    findings = tuple(seen.findings)
    conditions = CauseConditions.of(case, findings)
    return Sample(name, base, logged, causes, accepted, findings, frozenset(seen.absent), signs_of(case), conditions)


def learn(samples: Iterable[Sample], *, before: dict | None = None) -> dict[str, dict]:
    """The tables of weights.toml. `before` has weights of findings that are a better first guess than causes.toml."""
    known = causes_with(before or {})
    seen: dict[str, Counter] = defaultdict(Counter)
    there: dict[str, Counter] = defaultdict(Counter)
    for sample in samples:
        present, missing = sample.evidence
        possible = [cause for cause in sample.causes if cause in known and known[cause].possible(sample.conditions)]
        # What was done counts most; the causes that look the same are taught too.
        shares = {cause: (1.0 if i == 0 else 0.5) for i, cause in enumerate(possible)}
        names = {**shares, "usual": 1.0} if sample.causes else {"healthy": 1.0}
        for name, share in names.items():
            for evidence in present | missing:
                seen[name][evidence] += share
                there[name][evidence] += share * (evidence in present)
    usual = {name: (there["usual"][name] + 0.5) / (count + 1.0) for name, count in seen["usual"].items()}
    rates = {
        cause: {
            name: rate
            for name in sorted(seen[cause])
            if (rate := _rate(name, known[cause].brings, usual, there[cause][name], seen[cause][name])) is not None
        }
        for cause in sorted(seen.keys() & known.keys())
    }
    for cause, weights in (before or {}).get("causes", {}).items():
        rates[cause] = {**weights, **rates.get(cause, {})}
    rates = {cause: dict(sorted(rates[cause].items())) for cause in sorted(rates)}
    healthy = {
        name: rate
        for name in sorted(seen["healthy"])
        if (rate := _rate(name, {}, usual, there["healthy"][name], seen["healthy"][name])) is not None
    }
    return {
        "causes": rates,
        "usual": {name: round(rate, 3) for name, rate in sorted(usual.items())},
        "healthy": healthy,
    }


def _rate(name: str, brings: dict, usual: dict, there: float, seen: float) -> float | None:
    """The learned rate; None if it says no more than what is known without it."""
    is_sign = name in all_signs()
    common = usual.get(name, 0.1)
    prior = brings.get(name, common if is_sign else min(UNEXPECTED, common))
    rate = (there + STRENGTH * prior) / (seen + STRENGTH)
    if is_sign and abs(math.log(rate / common)) < SAME_RATE and abs(math.log((1 - rate) / (1 - common))) < SAME_RATE:
        return None
    if not is_sign and name not in brings and there == 0:
        return None
    return round(min(0.98, max(0.005, rate)), 3)


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
    """Each faulty training with weights that were learned without its base."""
    found = []
    for _, others, group in leave_one_base_out(samples, base_of=lambda sample: sample.base):
        weights = learn(others)
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


def kept_findings() -> dict:
    """The weights of findings in weights.toml, for trainings that are not at hand."""
    tables = learned_weights().get("causes", {})
    return {
        "causes": {
            cause: {name: weight for name, weight in weights.items() if not name.startswith(PREFIX)}
            for cause, weights in tables.items()
        }
    }
