"""Learns how often each cause brings each finding and sign, from trainings whose fault is known.

Weights begin at what causes.toml says and move with every training: a weight is (k + S * prior) / (m + S), where the
evidence could be seen in m trainings with this cause and was there in k of them. Leaks are learned from healthy ones.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.cases import case_of, trainings
from pulseboard.diagnose.detector import run_detectors
from pulseboard.diagnose.facts.signs import SIGNS, signs
from pulseboard.diagnose.judge.causes import CauseConditions, causes_with, evidence_of, rank_causes
from pulseboard.read.runs import read
from zoo.fault import all_faults
from zoo.plan import HEALTHY, planned_trainings
from zoo.views import VIEWS

# How many trainings the knowledge of people is worth. A finding that nobody expects is worth less than a sign.
STRENGTH = 8.0
UNEXPECTED = 0.03
UNEXPECTED_SIGN = 0.2
# Weights below this say nothing.
LEAST = 0.04


@dataclass(frozen=True)
class Sample:
    """One training: what was seen, what was looked for and is absent, and what is really wrong with it."""

    base: str
    causes: frozenset[str]  # empty: healthy
    case: Case
    findings: tuple
    absent: frozenset[str]

    @property
    def evidence(self) -> tuple[set[str], set[str]]:
        """Present and missing evidence."""
        present, missing = evidence_of(self.findings, self.absent, signs(self.case))
        return set(present), set(missing)


def samples_of_own(directory: Path) -> Iterator[Sample]:
    """The tuning part of the own zoo, as it was logged and as a stranger would log it."""
    faults = all_faults()
    for one in planned_trainings():
        if one.held_out or not (directory / f"{one.name}.done").exists():
            continue
        fault = None if one.fault == HEALTHY else faults[one.fault]
        healthy = fault is None or fault.decoy or fault.visible == "no"
        causes = frozenset() if healthy else frozenset({fault.cause, *fault.equivalent})
        for training in list(trainings(read(directory / one.name)))[:1]:
            for view in (None, VIEWS["foreign names"]):
                if view is not None and not healthy and view.hides.issuperset(fault.accepted):
                    continue
                yield _sample(one.base, causes, case_of(training if view is None else view.of(training, one)))


def samples_of_foreign(directory: Path) -> Iterator[Sample]:
    """Trainings by other frameworks, without the held-out bases."""
    for path in sorted((directory / "truth").glob("*.json")):
        truth = json.loads(path.read_text(encoding="utf-8"))
        if truth.get("held_out"):
            continue
        causes = frozenset(truth["causes"]) if truth["visible"] else frozenset()
        found = list(trainings(read(directory / "runs" / truth["name"])))
        for training in found[:1]:
            yield _sample(truth["base"], causes, case_of(training))


def _sample(base: str, causes: frozenset[str], case: Case) -> Sample:
    seen = run_detectors(case)
    return Sample(base, causes, case, tuple(seen.findings), frozenset(seen.absent))


def learn(samples: Iterable[Sample]) -> dict[str, dict[str, dict[str, float]]]:
    """The tables of weights.toml."""
    prior = {slug: dict(cause.brings) for slug, cause in causes_with({}).items()}
    seen: dict[str, Counter] = defaultdict(Counter)
    there: dict[str, Counter] = defaultdict(Counter)
    healthy_seen, healthy_there = Counter(), Counter()
    for sample in samples:
        present, missing = sample.evidence
        for evidence in present | missing:
            if not sample.causes:
                healthy_seen[evidence] += 1
                healthy_there[evidence] += evidence in present
            # Several causes may be right: each is taught with a part of the training.
            for cause in sample.causes & prior.keys():
                share = 1.0 / len(sample.causes)
                seen[cause][evidence] += share
                there[cause][evidence] += share * (evidence in present)
    causes = {}
    for cause, counts in seen.items():
        learned = {}
        for evidence in sorted(counts):
            base = prior[cause].get(evidence, UNEXPECTED_SIGN if evidence in SIGNS else UNEXPECTED)
            weight = (there[cause][evidence] + STRENGTH * base) / (counts[evidence] + STRENGTH)
            if weight >= LEAST or evidence in prior[cause]:
                learned[evidence] = round(weight, 3)
        causes[cause] = learned
    leaks = {
        evidence: round((healthy_there[evidence] + STRENGTH * 0.2) / (count + STRENGTH), 3)
        for evidence, count in sorted(healthy_seen.items())
    }
    return {"causes": dict(sorted(causes.items())), "leaks": leaks}


def first_cause_right(sample: Sample, weights: dict) -> bool:
    """Whether the first cause by these weights is a right one."""
    conditions = CauseConditions.of(sample.case, sample.findings)
    named, _ = rank_causes(sample.findings, sample.absent, conditions, signs(sample.case), weights=weights)
    return bool(named) and named[0].slug in sample.causes


def leave_one_base_out(samples: list[Sample]) -> dict[str, tuple[int, int]]:
    """Base -> (first cause right, faulty trainings), with weights learned without that base."""
    results = {}
    for base in sorted({sample.base for sample in samples}):
        weights = learn(sample for sample in samples if sample.base != base)
        faulty = [sample for sample in samples if sample.base == base and sample.causes]
        results[base] = (sum(first_cause_right(sample, weights) for sample in faulty), len(faulty))
    return results


def as_toml(tables: dict) -> str:
    """The tables as weights.toml."""
    lines = ["# Learned by `python -m zoo causes` from trainings with known faults. Do not edit.", ""]
    for cause, weights in tables["causes"].items():
        lines += [f"[causes.{cause}]", *(f'"{name}" = {weight}' for name, weight in weights.items()), ""]
    lines += ["[leaks]", *(f'"{name}" = {leak}' for name, leak in tables["leaks"].items()), ""]
    return "\n".join(lines)


WEIGHTS = Path(__file__).parents[2] / "src/pulseboard/diagnose/judge/weights.toml"


def learn_and_write(own: Path, foreign: Path) -> str:
    """Learn from both zoos, write weights.toml, and tell how often the first cause is right with each base left out."""
    samples = [*samples_of_own(own), *samples_of_foreign(foreign)]
    if not samples:
        return f"No trainings in {own} or {foreign}. Build them first: python -m zoo build"
    results = leave_one_base_out(samples)
    WEIGHTS.write_text(as_toml(learn(samples)), encoding="utf-8")
    right, faulty = (sum(column) for column in zip(*results.values(), strict=True))
    rows = [f"| {base} | {part} of {whole} |" for base, (part, whole) in results.items() if whole]
    head = ["| base left out | first cause right |", "| --- | --- |"]
    return "\n".join([*head, *rows, f"| all | {100 * right / max(1, faulty):.0f} % ({right} of {faulty}) |"])
