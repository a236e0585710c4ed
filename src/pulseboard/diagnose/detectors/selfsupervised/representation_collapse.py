"""Representation collapse: features of different inputs have become nearly identical."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import count, number
from pulseboard.diagnose.stats.trend import trend
from pulseboard.diagnose.track import Track

SLUG = "representation-collapse"


@detector(id=SLUG, reads="collapse.std|collapse.rank|collapse.similarity")
def representation_collapse(case: Case) -> Iterator[Finding]:
    """All signs together make one finding. Each sign alone misses one kind of collapse.

    Early in training features of different inputs draw together before they spread, so only a lost spread counts.
    """
    signs: dict[str, list[tuple[Track, Evidence, int]]] = {}
    for role, look in (
        ("collapse.std", _narrow),
        ("collapse.rank", _low_rank),
        ("collapse.similarity", _alike),
    ):
        for track in case.every(role):
            if track.finite_count < case.limit(SLUG, "points"):
                continue
            seen = look(case, track)
            if seen is not None and (role == "collapse.std" or not _is_early(case, track)):
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
            falling = " The loss keeps falling, because constant features are easy to predict."
    levels = f" in {count(len(signs), 'level')}" if len(signs) > 1 else ""
    yield case.finding(
        SLUG,
        "critical",
        found[0][0],
        f"The features have collapsed since step {first:,}{levels}: "
        + "; ".join(evidence.what for _, evidence, _ in found)
        + f".{falling}",
        first_step=first,
        evidence=[evidence for signs_of_level in signs.values() for _, evidence, _ in signs_of_level],
    )


def _is_early(case: Case, track: Track) -> bool:
    """Before a share of the plan; without a plan, while the run is still going and has few points."""
    progress = case.progress(track.last_step or 0)
    if progress is not None:
        return progress < case.limit(SLUG, "early")
    return track.finite_count < case.patient(case.limit(SLUG, "points"))


def _narrow(case: Case, track: Track) -> tuple[Evidence, int] | None:
    steps, values = track.points(most=512)
    early, last = float(np.median(values[:3])), float(np.median(values[-3:]))
    limit = case.limit(SLUG, "std_share") * early
    floor = case.limit(SLUG, "std_floor")
    if last >= limit and last >= floor:
        return None
    first = int(steps[int(np.argmax(values < max(limit, floor)))])
    return Evidence(
        track.tag,
        f"their standard deviation is {number(last)} ({number(early)} at first)",
        last,
        max(limit, floor),
        first,
        on_curve=True,
    ), first


def _low_rank(case: Case, track: Track) -> tuple[Evidence, int] | None:
    steps, values = track.points(most=512)
    early, last = float(np.median(values[:3])), float(np.median(values[-3:]))
    limit = case.limit(SLUG, "rank_share") * early
    # Coarse levels and small models have few directions to begin with, so the floor applies only to a high rank.
    floor = case.limit(SLUG, "rank_floor")
    floor = floor if early >= 5 * floor else 0.0
    if last >= max(limit, floor):
        return None
    first = int(steps[int(np.argmax(values < max(limit, floor)))])
    what = f"their effective rank fell from {number(early)} to {number(last)}"
    return Evidence(track.tag, what, last, max(limit, floor), first, on_curve=True), first


def _alike(case: Case, track: Track) -> tuple[Evidence, int] | None:
    steps, values = track.points(most=512)
    early, last = float(np.median(values[:3])), float(np.median(values[-3:]))
    limit = case.limit(SLUG, "similarity")
    # Features that were already this similar before training have not collapsed.
    if last <= limit or last - early < case.limit(SLUG, "similarity_rise"):
        return None
    first = int(steps[int(np.argmax(values > limit))])
    return Evidence(
        track.tag,
        f"their mean cosine similarity rose from {number(early)} to {number(last)}",
        last,
        limit,
        first,
        on_curve=True,
    ), first


def _level_of(tag: str) -> str:
    found = re.search(r"level\d+", tag)
    return found.group() if found else ""
