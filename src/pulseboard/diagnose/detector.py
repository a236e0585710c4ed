"""Detectors: one file each in `detectors/<family>/`, from a case to findings."""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeVar

import numpy as np

from pulseboard.core.errors import PulseboardError
from pulseboard.core.finding import SEVERITIES, Finding, NotChecked
from pulseboard.diagnose import detectors
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.roles.resolve import BY_NAME

Detect = Callable[[Case], Iterable[Finding]]
Declared = TypeVar("Declared", bound=Detect)

# What a detector may need from the config: in words, and how to provide it.
CONTEXT = {
    "choices": ("the size of the vocabulary or the number of classes", 'pb.init(config={"vocab_size": n})'),
    "entropy": ("the entropy of the labels or tokens", 'pb.init(config={"unigram_entropy": nats})'),
    "planned_steps": ("the number of planned steps", 'pb.init(config={"max_steps": n})'),
    "optimizer": ("the optimizer", "pb.watch(model, optimizer)"),
    "clip_norm": ("the clipping threshold", 'pb.init(config={"clip_norm": 1.0})'),
    "experts": ("the number of experts", 'pb.init(config={"num_experts": n})'),
}


@dataclass(frozen=True, slots=True)
class Detector:
    """One declared detector."""

    id: str  # the slug of its finding
    reads: tuple[str, ...]  # roles it needs; "a|b": either is enough; also "histograms" and "ranks"
    needs: tuple[str, ...]  # what it needs from the config (see CONTEXT); "a|b": or the role b; "earlier": earlier runs
    detect: Detect
    file: str


# What a detector may read besides roles: what to say if it is missing, and how to log it.
_SOURCES = {
    "histograms": ("no histograms are logged", "pb.watch(model, optimizer, histogram_interval=1000)"),
    "ranks": ("only one rank is logged", ""),
    "any": ("no scalars are logged", 'run.log({"train/loss": loss}, step=step)'),
}
FAILED = "the detector itself failed"

_known: dict[str, Detector] = {}


def detector(*, id: str, reads: Iterable[str] | str, needs: Iterable[str] = ()) -> Callable[[Declared], Declared]:
    """Declare a function as the detector of the finding `id`."""

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
    """Every detector by slug: ours, and those of installed packages (entry point `pulseboard.detectors`)."""
    for module in pkgutil.walk_packages(detectors.__path__, f"{detectors.__name__}."):
        importlib.import_module(module.name)
    for point in importlib.metadata.entry_points(group="pulseboard.detectors"):
        point.load()
    return dict(sorted(_known.items()))


@dataclass(slots=True)
class DetectionResults:
    """What the detectors found, what is known to be absent, and what could not be checked."""

    findings: list[Finding] = field(default_factory=list)
    absent: set[str] = field(default_factory=set)
    not_checked: list[NotChecked] = field(default_factory=list)


def run_detectors(case: Case, chosen: Iterable[Detector] | None = None) -> DetectionResults:
    """Run every detector on one case. Findings are sorted by severity, then by step."""
    seen = DetectionResults()
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
        except Exception as error:  # one failing detector must not affect the others
            seen.not_checked.append(NotChecked(one.id, f"{FAILED} ({type(error).__name__}: {error})", ""))
            continue
        seen.findings.extend(found)
        if not found:
            seen.absent.add(one.id)
    seen.not_checked.sort(key=lambda one: (_foreign_to(case, one.slug), one.slug))
    seen.findings.sort(key=lambda f: (-SEVERITIES.index(f.severity), f.first_step, f.slug, f.metric))
    return seen


# Kinds of metrics that most trainings do not have.
_SPECIAL = frozenset(
    {"moe", "ema", "mask", "prediction", "collapse", "target", "gpu", "rank", "ranks", "rl", "amp", "sol"}
)
_SPECIAL_ROLES = frozenset({"loss.quantiles", "loss.contribution", "loss.relative", "gradient.target", "memory.peak"})


def _foreign_to(case: Case, slug: str) -> bool:
    """Whether a finding is about a different kind of training. Those are listed last."""
    known = all_detectors().get(slug)
    if known is None:
        return False
    roles = [role for wanted in known.reads for role in wanted.split("|")]
    special = [role for role in roles if role.split(".")[0] in _SPECIAL or role in _SPECIAL_ROLES]
    kinds = {role.split(".")[0] for role in special}
    present = {role.split(".")[0] for role in case.reading.tags} | ({"ranks"} if len(case.ranks) > 1 else set())
    return bool(special) and not kinds & present - {"loss", "gradient", "memory"}


def _bounded(finding: Finding, case: Case) -> Finding | None:
    """The finding, at most as severe as the profile allows; None if the profile turns it off."""
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
            return NotChecked(one.id, *_SOURCES[names[0]])
    for wanted in one.needs:
        name, *instead = wanted.split("|")
        if getattr(case.context, name) is None and not any(_there(other, case) for other in instead):
            what, how = CONTEXT[name]
            return NotChecked(one.id, f"the config does not contain {what}", how)
    return None


def _there(name: str, case: Case) -> bool:
    if name == "any":
        return any(len(track) for track in case.tracks.values())
    if name == "histograms":
        return bool(case.histograms)
    if name == "ranks":
        return len(case.ranks) > 1
    if name == "earlier":
        return case.earlier is not None
    track = case.one(name)
    return track is not None and len(track) > 0
