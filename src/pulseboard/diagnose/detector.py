"""Detectors: each a file in `detectors/`, a case in and findings out."""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeVar

import numpy as np

from pulseboard.core.errors import PulseboardError
from pulseboard.core.finding import SEVERITIES, Finding, NotChecked
from pulseboard.diagnose import detectors
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.roles import BY_NAME

Detect = Callable[[Case], Iterable[Finding]]
Declared = TypeVar("Declared", bound=Detect)

# What a detector may need of the configuration, in words, and how to say it.
CONTEXT = {
    "choices": ("the size of the vocabulary or the number of classes", 'pb.init(config={"vocab_size": n})'),
    "entropy": ("the entropy of the labels or tokens", 'pb.init(config={"unigram_entropy": nats})'),
    "planned_steps": ("how many steps are planned", 'pb.init(config={"max_steps": n})'),
    "optimizer": ("which optimizer is used", "pb.watch(model, optimizer)"),
    "clip_norm": ("the clipping threshold", 'pb.init(config={"clip_norm": 1.0})'),
    "experts": ("the number of experts", 'pb.init(config={"num_experts": n})'),
}


@dataclass(frozen=True, slots=True)
class Detector:
    """One declared detector."""

    id: str  # the slug of its findings
    reads: tuple[str, ...]  # roles it needs; "a|b": one of them is enough; "histograms", "ranks": those
    needs: tuple[
        str, ...
    ]  # what it needs of the configuration (see CONTEXT); "a|b": or the role b; "earlier": earlier runs
    detect: Detect
    file: str


FAILED = "the detector itself failed"

_known: dict[str, Detector] = {}


def detector(*, id: str, reads: Iterable[str] | str, needs: Iterable[str] = ()) -> Callable[[Declared], Declared]:
    """Declare a function of a case as the detector of the finding `id`."""

    def declare(detect: Declared) -> Declared:
        file = inspect.getsourcefile(detect) or "?"
        before = _known.get(id)
        if before is not None and before.file != file:
            raise PulseboardError(f"Two detectors are called {id!r}. Rename one of them: {before.file} and {file}")
        _known[id] = Detector(id, (reads,) if isinstance(reads, str) else tuple(reads), tuple(needs), detect, file)
        return detect

    return declare


@lru_cache(maxsize=1)
def all_detectors() -> dict[str, Detector]:
    """Every detector by its slug: ours, and those that installed packages offer as `pulseboard.detectors`."""
    for module in pkgutil.iter_modules(detectors.__path__):
        importlib.import_module(f"{detectors.__name__}.{module.name}")
    for point in importlib.metadata.entry_points(group="pulseboard.detectors"):
        point.load()
    return dict(sorted(_known.items()))


@dataclass(slots=True)
class Sightings:
    """What the detectors saw: findings, what is surely absent, and what could not be looked for."""

    findings: list[Finding] = field(default_factory=list)
    absent: set[str] = field(default_factory=set)
    not_checked: list[NotChecked] = field(default_factory=list)


def run_detectors(case: Case, chosen: Iterable[Detector] | None = None) -> Sightings:
    """Every detector on one case. Findings come the gravest first, then by step."""
    seen = Sightings()
    for one in all_detectors().values() if chosen is None else chosen:
        missing = _missing(one, case)
        if missing is not None:
            seen.not_checked.append(missing)
            continue
        try:
            with np.errstate(all="ignore"):
                found = [kept for finding in one.detect(case) if (kept := _bounded(finding, case)) is not None]
        except TooShort as reason:
            seen.not_checked.append(NotChecked(one.id, f"too few points yet: {reason}", ""))
            continue
        except Exception as error:  # one detector's mistake must not cost the others' findings
            seen.not_checked.append(NotChecked(one.id, f"{FAILED} ({type(error).__name__}: {error})", ""))
            continue
        seen.findings.extend(found)
        if not found:
            seen.absent.add(one.id)
    seen.not_checked.sort(key=lambda one: (_foreign_to(case, one.slug), one.slug))
    seen.findings.sort(key=lambda f: (-SEVERITIES.index(f.severity), f.first_step, f.slug, f.metric))
    return seen


# Kinds of metrics that most trainings rightly do not have.
_SPECIAL = frozenset(
    {"moe", "ema", "mask", "prediction", "collapse", "target", "gpu", "rank", "ranks", "rl", "amp", "sol"}
)
_SPECIAL_ROLES = frozenset({"loss.quantiles", "loss.contribution", "loss.relative", "gradient.target", "memory.peak"})


def _foreign_to(case: Case, slug: str) -> bool:
    """Whether a finding is about a kind of training that this one is not: told after those it could have."""
    known = all_detectors().get(slug)
    if known is None:
        return False
    roles = [role for wanted in known.reads for role in wanted.split("|")]
    special = [role for role in roles if role.split(".")[0] in _SPECIAL or role in _SPECIAL_ROLES]
    kinds = {role.split(".")[0] for role in special}
    present = {role.split(".")[0] for role in case.reading.tags} | ({"ranks"} if len(case.ranks) > 1 else set())
    return bool(special) and not kinds & present - {"loss", "gradient", "memory"}


def _bounded(finding: Finding, case: Case) -> Finding | None:
    """The finding, no graver than the profile allows; None where the profile turns it off."""
    most = case.profile.severities.get(finding.slug)
    if most == "off":
        return None
    if most is not None and SEVERITIES.index(finding.severity) > SEVERITIES.index(most):
        return replace(finding, severity=most)
    return finding


def _missing(one: Detector, case: Case) -> NotChecked | None:
    for wanted in one.reads:
        names = wanted.split("|")
        if not any(_there(name, case) for name in names):
            role = BY_NAME.get(names[0])
            if role is not None:
                return NotChecked(one.id, f"no tag was read as {names[0]} ({role.meaning})", role.log)
            what = {"histograms": "no histograms are logged", "ranks": "only one rank is logged"}[names[0]]
            advice = {"histograms": "pb.watch(model, optimizer, histogram_interval=1000)", "ranks": ""}[names[0]]
            return NotChecked(one.id, what, advice)
    for wanted in one.needs:
        name, *instead = wanted.split("|")
        if getattr(case.context, name) is None and not any(_there(other, case) for other in instead):
            what, how = CONTEXT[name]
            return NotChecked(one.id, f"the run's configuration does not say {what}", how)
    return None


def _there(name: str, case: Case) -> bool:
    if name == "histograms":
        return bool(case.histograms)
    if name == "ranks":
        return len(case.ranks) > 1
    if name == "earlier":
        return case.earlier is not None
    track = case.one(name)
    return track is not None and len(track) > 0


def tags_of(findings: Iterable[Finding]) -> Iterator[str]:
    """The tags that findings are about."""
    yield from dict.fromkeys(finding.metric for finding in findings)
