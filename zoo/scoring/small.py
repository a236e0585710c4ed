"""Small: the diagnosis of small trainings of many kinds and log styles, scored like those of other frameworks."""

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from zoo.scoring.figures import found
from zoo.scoring.foreign import COLUMNS, Truth, cells, first_cause_is_right
from zoo.scoring.matching import Case
from zoo.scoring.table import table

Pairs = list[tuple[Truth, Case]]
# A fault that takes this share of what the healthy twin gained is a costly one.
COSTLY = 0.5


def totals(pairs: Pairs, directory: Path) -> str:
    """The figures of all of them, and of the costly faults alone; nothing about a single training."""
    rows = {"all": cells([case for _, case in pairs])}
    stored = {truth.name: json.loads(path_of(directory, truth.name).read_text(encoding="utf-8")) for truth, _ in pairs}
    costly = [case for truth, case in pairs if stored[truth.name]["visible"] and stored[truth.name]["cost"] >= COSTLY]
    rows["faults that cost half or more"] = cells(costly)
    return table(COLUMNS, rows).replace("| state |", "| trainings |", 1)


def path_of(directory: Path, name: str) -> Path:
    """The truth of one training."""
    return directory / "truth" / f"{name}.json"


def details(pairs: Pairs) -> str:
    """By kind, by log style and by fault. For the tuning half only."""
    parts = [
        _by(pairs, "kind", lambda truth: truth.base),
        _by(pairs, "logged as", lambda truth: truth.name.split("-")[1]),
        _by(pairs, "fault", lambda truth: truth.verdict.label),
    ]
    return "\n\n".join(parts)


def _by(pairs: Pairs, title: str, key: Callable[[Truth], str]) -> str:
    groups: dict[str, list[Case]] = defaultdict(list)
    for truth, case in pairs:
        groups[key(truth)].append(case)
    lines = [f"| {title} | healthy flagged | faults found | right cause first |", "| --- | --- | --- | --- |"]
    for name, cases in sorted(groups.items()):
        faulty = [case for case in cases if case.verdict and case.verdict.kind == "problem"]
        healthy = [case for case in cases if case not in faulty]
        flagged = f"{sum(bool(case.alarms) for case in healthy)} of {len(healthy)}"
        hits, right = sum(map(found, faulty)), sum(map(first_cause_is_right, faulty))
        lines.append(f"| {name} | {flagged} | {hits} of {len(faulty)} | {right} of {len(faulty)} |")
    return "\n".join(lines)
