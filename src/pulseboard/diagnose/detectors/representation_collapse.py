"""Representation collapse: features that no longer differ, by spread, by rank or by direction."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.statistics.trend import trend
from pulseboard.diagnose.track import Track


@detector(id="representation-collapse", reads="collapse.std|collapse.rank|collapse.similarity")
def representation_collapse(case: Case) -> Iterator[Finding]:
    """All signs of one level together make one finding. Each sign alone is blind to one kind of collapse."""
    signs: dict[str, list[tuple[Track, Evidence, int]]] = {}
    for role, look in (
        ("collapse.std", _narrow),
        ("collapse.rank", _low_rank),
        ("collapse.similarity", _alike),
    ):
        for track in case.every(role):
            if track.finite_count < case.limit("representation-collapse", "points"):
                continue
            seen = look(case, track)
            if seen is not None:
                signs.setdefault(_level_of(track.tag), []).append((track, *seen))
    if not signs:
        return
    level = max(signs, key=lambda name: (len(signs[name]), name))
    found = signs[level]
    first = min(step for _, _, step in found)
    loss = case.one("train.loss")
    falling = ""
    if loss is not None and len(loss) >= 16:
        line = trend(loss.points(most=256))
        if line is not None and line.p_falling < 1e-3:
            falling = " The loss falls all the same: it has found the easy way out."
    where = f" in {len(signs)} levels" if len(signs) > 1 else ""
    yield case.finding(
        "representation-collapse",
        "critical",
        found[0][0],
        f"Features have collapsed{where}: " + "; ".join(evidence.what for _, evidence, _ in found) + f".{falling}",
        first_step=first,
        evidence=[evidence for signs_of_level in signs.values() for _, evidence, _ in signs_of_level],
    )


def _narrow(case: Case, track: Track) -> tuple[Evidence, int] | None:
    steps, values = track.points(most=512)
    early, last = float(np.median(values[:3])), float(np.median(values[-3:]))
    limit = case.limit("representation-collapse", "std_share") * early
    floor = case.limit("representation-collapse", "std_floor")
    if last >= limit and last >= floor:
        return None
    first = int(steps[int(np.argmax(values < max(limit, floor)))])
    return Evidence(
        track.tag, f"their spread is {last:.2g}, {early:.2g} at first", last, max(limit, floor), first
    ), first


def _low_rank(case: Case, track: Track) -> tuple[Evidence, int] | None:
    steps, values = track.points(most=512)
    early, last = float(np.median(values[:3])), float(np.median(values[-3:]))
    limit = case.limit("representation-collapse", "rank_share") * early
    # Coarse levels and small models have few directions to begin with: the floor holds where there were many.
    floor = case.limit("representation-collapse", "rank_floor")
    floor = floor if early >= 5 * floor else 0.0
    if last >= max(limit, floor):
        return None
    first = int(steps[int(np.argmax(values < max(limit, floor)))])
    what = f"they vary in {last:.1f} directions, {early:.1f} at first"
    return Evidence(track.tag, what, last, max(limit, floor), first), first


def _alike(case: Case, track: Track) -> tuple[Evidence, int] | None:
    steps, values = track.points(most=512)
    early, last = float(np.median(values[:3])), float(np.median(values[-3:]))
    limit = case.limit("representation-collapse", "similarity")
    # Features that were as much alike before training have not collapsed in it.
    if last <= limit or last - early < case.limit("representation-collapse", "similarity_rise"):
        return None
    first = int(steps[int(np.argmax(values > limit))])
    return Evidence(
        track.tag, f"two of them have a cosine of {last:.2f}, {early:.2f} at first", last, limit, first
    ), first


def _level_of(tag: str) -> str:
    found = re.search(r"level\d+", tag)
    return found.group() if found else ""
