"""How many healthy trainings break each rule of each guide, which become footnotes of `pulseboard guide`.

A training by `trainers/` is compared with its own guide. Any other healthy training is compared with the rules of the
guides about losses, learning rate, gradients and throughput, which hold for any model: a series counts as the guide's
if it has the same role. Reinforcement learning, GANs and trees are left out: no guide is about them.
"""

import copy
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.cases import case_of, trainings
from pulseboard.diagnose.profile import GENERAL, Profile, ProfileMetric, load_profile, shipped
from pulseboard.diagnose.scorecard import footnotes
from pulseboard.diagnose.scorecard.answers import answer
from pulseboard.diagnose.scorecard.metric_table import metric_rows, stage_rows
from pulseboard.read.runs import read

TARGET = Path(footnotes.__file__).with_name(footnotes.FILE)
ANY_MODEL = ("train.loss", "val.loss", "lr", "gradient.norm_after", "gradient.norm_before", "throughput")  # roles
OTHER_TASKS = ("sb3_", "dcgan", "lightgbm_", "xgboost_")
Rule = tuple[str, str, str]  # profile, tag, rule


def measure(own: Path, foreign: Path) -> dict[Rule, tuple[int, int]]:
    """(broken, compared) of every rule, over the healthy trainings of both directories."""
    counts: dict[Rule, tuple[int, int]] = {}
    for case in [*_own_cases(own), *_foreign_cases(foreign)]:
        for profile in map(load_profile, shipped()):
            own_guide = case.profile.name == profile.name
            for rule, bad in rules_of(case) if own_guide else checks_of(as_seen_by(profile, case), relative=True):
                broken, compared = counts.get(rule, (0, 0))
                counts[rule] = (broken + bad, compared + 1)
    return counts


def rules_of(case: Case) -> Iterator[tuple[Rule, bool]]:
    """Every rule of the case's profile that it can be compared with, and whether it breaks it."""
    profile = case.profile
    if profile.name == GENERAL:
        return
    rows, stages = list(metric_rows(case)), list(stage_rows(case))
    for metric in profile.metrics:
        if metric.bands:
            grades = [row.grade for row in rows if profile.metric(row.tag) is metric and row.limits]
            if any(grade is not None for grade in grades):
                yield (profile.name, metric.tag, footnotes.RANGE), any(g not in (None, "ok") for g in grades)
        cells = [cell.verdict for row in stages if profile.metric(row.tag) is metric for cell in row.cells]
        compared = [verdict for verdict in cells if verdict in ("inside", "below", "above")]
        if compared and "other model" not in cells:
            yield (profile.name, metric.tag, footnotes.STAGES), any(verdict != "inside" for verdict in compared)
    yield from checks_of(case)


def checks_of(case: Case, *, relative: bool = False) -> Iterator[tuple[Rule, bool]]:
    """The same for checks alone. `relative` leaves out those of present values, which depend on the model."""
    for check in case.profile.checks:
        given = answer(check, case)
        if given.grade is not None and not (relative and check.measure == "latest"):
            yield (case.profile.name, check.tag, check.ask), given.bad


def as_seen_by(profile: Profile, case: Case) -> Case:
    """The case with the tags of another profile, where the roles are the same and hold for any model."""
    seen = copy.copy(case)
    seen.profile, seen.histograms, seen.facts = profile, {}, {}
    seen.tracks = {
        metric.tag: track for metric in _plain(profile.metrics) if (track := case.one(metric.role)) is not None
    }
    return seen


def as_toml(counts: dict[Rule, tuple[int, int]]) -> str:
    """The file of counts."""
    lines = ["# Measured by `python -m zoo guides` on healthy trainings: [broken, compared]. Do not edit."]
    last = None
    for (profile, tag, rule), (broken, compared) in sorted(counts.items()):
        if (profile, tag) != last:
            lines.append(f"\n[{profile}.{json.dumps(tag)}]")
            last = (profile, tag)
        lines.append(f"{json.dumps(rule)} = [{broken}, {compared}]")
    return "\n".join(lines) + "\n"


def table(counts: dict[Rule, tuple[int, int]]) -> str:
    """The rules that a healthy training breaks, as Markdown."""
    lines = ["| guide | metric | rule | healthy trainings that break it |", "| --- | --- | --- | --- |"]
    for (profile, tag, rule), (broken, compared) in sorted(counts.items()):
        if broken:
            lines.append(f"| `{profile}` | `{tag}` | {rule} | {broken} of {compared} |")
    return "\n".join(lines)


def _plain(metrics: Iterable[ProfileMetric]) -> Iterator[ProfileMetric]:
    """The first metric of each role that holds for any model, without patterns."""
    roles: set[str] = set()
    for metric in metrics:
        if metric.role in ANY_MODEL and metric.role not in roles and not set("{*") & set(metric.tag):
            roles.add(metric.role)
            yield metric


def _own_cases(directory: Path) -> Iterator[Case]:
    yield from _cases(sorted(path for path in directory.glob("*-healthy-*") if path.is_dir()))


def _foreign_cases(directory: Path) -> Iterator[Case]:
    names = [path.stem for path in sorted((directory / "truth").glob("*-healthy-*.json"))]
    yield from _cases([directory / "runs" / name for name in names if not name.startswith(OTHER_TASKS)])


def _cases(paths: Sequence[Path]) -> Iterator[Case]:
    for path in paths:
        for training in trainings(read(path)):
            yield case_of(training)
