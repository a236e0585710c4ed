"""Rank straggler: one process is slower than the others, and all wait for it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.statistics.peers import outsiders
from pulseboard.diagnose.track import Floats, Track


@detector(id="rank-straggler", reads=("ranks", "rank.step_time"))
def rank_straggler(case: Case) -> Iterator[Finding]:
    """A rank's own time above the median of its peers, window after window."""
    tag = case.reading.first("rank.step_time")
    tracks = {rank: tracks[tag] for rank, tracks in case.ranks.items() if tag in tracks} if tag else {}
    by_rank = _aligned(tracks)
    limit = case.limit("rank-straggler", "effect")
    for slow in outsiders(by_rank, least_effect=limit):
        assert tag is not None
        yield case.finding(
            "rank-straggler",
            "warning",
            tag,
            f"Rank {slow.rank} takes {slow.ratio:.2f} times as long as its peers, in "
            f"{100 * slow.share_of_windows:.0f} % of "
            "the run.",
            evidence=[Evidence(tag, f"time of rank {slow.rank} over that of its peers", slow.ratio, 1 + limit)],
        )


def _aligned(tracks: dict[int, Track]) -> dict[int, Floats]:
    """Values at the steps that all ranks have."""
    if len(tracks) < 2:
        return {}
    points = {rank: track.points() for rank, track in tracks.items()}
    common = None
    for steps, _ in points.values():
        common = steps if common is None else np.intersect1d(common, steps)
    if common is None or len(common) < 9:
        return {}
    return {rank: values[np.searchsorted(steps, common)] for rank, (steps, values) in points.items()}
