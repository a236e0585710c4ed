"""Rank straggler: one rank is slower than the others, and they all wait for it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import percent
from pulseboard.diagnose.stats.peers import outsiders
from pulseboard.diagnose.track import Floats, Track


@detector(id="rank-straggler", reads=("ranks", "rank.own_time|rank.step_time"))
def rank_straggler(case: Case) -> Iterator[Finding]:
    """A rank whose own time is above the median of its peers, window after window.

    Own time, because the whole step takes equally long on all ranks: they wait for the slowest.
    """
    tags = case.reading.tags.get("rank.own_time") or case.reading.tags.get("rank.step_time", ())
    parts = [_aligned({rank: tracks[tag] for rank, tracks in case.ranks.items() if tag in tracks}) for tag in tags]
    by_rank = _summed([part for part in parts if part])
    limit = case.limit("rank-straggler", "effect")
    for slow in outsiders(by_rank, least_effect=limit):
        yield case.finding(
            "rank-straggler",
            "warning",
            tags[0],
            f"Rank {slow.rank} takes {percent(slow.ratio - 1)} longer than the other ranks, in "
            f"{percent(slow.share_of_windows)} of the measured windows.",
            evidence=[Evidence(tags[0], f"time of rank {slow.rank} relative to its peers", slow.ratio, 1 + limit)],
        )


def _summed(parts: list[dict[int, Floats]]) -> dict[int, Floats]:
    """The total own time of each rank, over the measurements that all parts have."""
    if not parts:
        return {}
    ranks = set.intersection(*(set(part) for part in parts))
    length = min((len(values) for part in parts for values in part.values()), default=0)
    return {rank: np.sum([part[rank][-length:] for part in parts], axis=0) for rank in ranks}


def _aligned(tracks: dict[int, Track]) -> dict[int, Floats]:
    """Values at the steps that all ranks logged."""
    if len(tracks) < 2:
        return {}
    points = {rank: track.points() for rank, track in tracks.items()}
    common = None
    for steps, _ in points.values():
        common = steps if common is None else np.intersect1d(common, steps)
    if common is None or len(common) < 9:
        return {}
    return {rank: values[np.searchsorted(steps, common)] for rank, (steps, values) in points.items()}
