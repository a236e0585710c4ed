"""Beside earlier runs: what diagnosis says of trainings when healthy ones of the same base are named."""

from pathlib import Path

from pulseboard.diagnose.cases import case_of, trainings
from pulseboard.diagnose.earlier import Earlier
from pulseboard.read.log import read
from zoo.fault import EVERY_BASE
from zoo.plan import HEALTHY, Specimen, specimens
from zoo.score import Judged, judge


def table(chosen: list[Specimen], directory: Path) -> str:
    """Of trainings kept aside: how many get a warning, without earlier runs and with them."""
    kept = [one for one in chosen if one.aside]
    sides = [judge(kept, directory), judge(kept, directory, earlier=_healthy(directory))]
    rows = {
        "healthy, with the settings of those": _is_like_them,
        "wrong labels that nothing else shows (`label-offset`)": lambda one: one.specimen.fault == "label-offset",
        "faults that show": lambda one: not one.healthy,
    }
    lines = [
        "| kept aside, with a warning or worse | alone | beside six healthy runs of its base |",
        "| --- | --- | --- |",
    ]
    for what, belongs in rows.items():
        counts = [[bool(one.alarms) for one in side if belongs(one)] for side in sides]
        lines.append(f"| {what} | " + " | ".join(f"{sum(count)} of {len(count)}" for count in counts) + " |")
    return "\n".join(lines)


def _is_like_them(one: Judged) -> bool:
    return one.specimen.fault == HEALTHY and "--optimizer" not in one.specimen.style


def _healthy(directory: Path) -> dict[str, Earlier]:
    """The healthy trainings of each base that are not kept aside."""
    found = {}
    for base in EVERY_BASE:
        good = [one for one in specimens() if (one.base, one.fault, one.aside) == (base, HEALTHY, False)]
        found[base] = Earlier([case_of(next(iter(trainings(read(directory / one.name))))) for one in good])
    return found
