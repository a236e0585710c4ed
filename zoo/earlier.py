"""Earlier runs: the diagnosis of trainings when healthy ones of the same base are known."""

from pathlib import Path

from pulseboard.diagnose.cases import case_of, trainings
from pulseboard.diagnose.earlier import Earlier
from pulseboard.read.runs import read
from zoo.fault import EVERY_BASE
from zoo.plan import HEALTHY, PlannedTraining, planned_trainings
from zoo.score import Judged, judge


def table(chosen: list[PlannedTraining], directory: Path) -> str:
    """The number of held-out trainings with a warning, without and with earlier runs."""
    held_out = [one for one in chosen if one.held_out]
    sides = [judge(held_out, directory), judge(held_out, directory, earlier=_healthy(directory))]
    rows = {
        "healthy, with the same settings": _has_same_settings,
        "wrong labels that nothing else reveals (`label-offset`)": lambda one: one.training.fault == "label-offset",
        "visible faults": lambda one: not one.healthy,
    }
    lines = [
        "| held out, with a warning or worse | alone | compared with six healthy runs of its base |",
        "| --- | --- | --- |",
    ]
    for label, belongs in rows.items():
        counts = [[bool(one.alarms) for one in side if belongs(one)] for side in sides]
        lines.append(f"| {label} | " + " | ".join(f"{sum(count)} of {len(count)}" for count in counts) + " |")
    return "\n".join(lines)


def _has_same_settings(one: Judged) -> bool:
    return one.training.fault == HEALTHY and "--optimizer" not in one.training.style


def _healthy(directory: Path) -> dict[str, Earlier]:
    """The healthy trainings of each base in the tuning part."""
    found = {}
    for base in EVERY_BASE:
        good = [one for one in planned_trainings() if (one.base, one.fault, one.held_out) == (base, HEALTHY, False)]
        found[base] = Earlier([case_of(next(iter(trainings(read(directory / one.name))))) for one in good])
    return found
