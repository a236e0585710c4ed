"""Hierarchy imbalance: a level's share of the loss is far from the weight it was given."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.track import Track


@detector(id="hierarchy-imbalance", reads="loss.contribution")
def hierarchy_imbalance(case: Case) -> Iterator[Finding]:
    """Weights that are applied against those of the configuration, else shares over the last half of the run."""
    for split, tracks in _by_split(case, "loss.contribution").items():
        losses = _by_split(case, "loss.levels").get(split, {})
        found = _other_weights(case, tracks, losses) or _uneven(case, tracks, losses)
        if found is not None:
            yield found
            return


def _by_split(case: Case, role: str) -> dict[str, dict[int, Track]]:
    """The series of each level by what their tags begin with: training and validation are not mixed."""
    splits: dict[str, dict[int, Track]] = {}
    for track in case.every(role):
        number = re.search(r"\d+$", track.tag)
        if number and track.finite_count >= 5:
            begins = re.sub(r"[^a-z]*(contribution)?[^a-z]*(h|level)?[^a-z]*$", "", track.tag[: number.start()].lower())
            splits.setdefault(begins, {})[int(number.group())] = track
    return splits


def _other_weights(case: Case, contributions: dict[int, Track], losses: dict[int, Track]) -> Finding | None:
    """A level's contribution divided by its own loss is its weight, but for a factor that all levels share."""
    wanted = case.context.hierarchy_weights or ()
    applied = {}
    for place in sorted(contributions.keys() & losses.keys()):
        steps, shares = contributions[place].points(most=256)
        at, values = losses[place].points(most=256)
        _, here, there = np.intersect1d(steps, at, return_indices=True)
        usable = values[there] > 0
        if place < len(wanted) and wanted[place] > 0 and usable.sum() >= 5:
            later = slice(len(here) // 2, None)
            applied[place] = float(np.median((shares[here] / values[there])[later][usable[later]]))
    if len(applied) < 2 or min(applied.values()) <= 0:
        return None
    # Losses that were logged with their weights already say nothing of them.
    if max(applied.values()) < 1.05 * min(applied.values()):
        return None
    off = {place: weight / wanted[place] for place, weight in applied.items()}
    usual, times = float(np.median(list(off.values()))), case.limit("hierarchy-imbalance", "weight_times")
    if max(off.values()) < times * min(off.values()):
        return None
    worst = max(off, key=lambda place: abs(np.log(off[place] / usual)))
    others = float(np.median([ratio for place, ratio in off.items() if place != worst]))
    factor = off[worst] / others
    track = contributions[worst]
    return case.finding(
        "hierarchy-imbalance",
        "warning",
        track,
        f"{track.tag} is what {losses[worst].tag} gives with {factor:.3g} times the weight that the configuration has "
        "for it beside the others.",
        evidence=[Evidence(track.tag, "weight applied over the weight configured", factor, times)],
    )


def _uneven(case: Case, tracks: dict[int, Track], losses: dict[int, Track]) -> Finding | None:
    """Shares against the configured weights or, without them, only a level that is all of the loss or none of it."""
    levels: dict[int, tuple[str, float]] = {}
    for place, track in tracks.items():
        # A level without a loss of its own has nothing to predict; that is no matter of weights.
        if place in losses and float(np.median(losses[place].points(most=256).values)) == 0.0:
            continue
        values = track.points(most=256).values
        level = float(np.median(values[len(values) // 2 :]))
        levels[place] = (track.tag, level / 100.0 if track.high > 1.5 else level)
    if len(levels) < 2:
        return None
    weights = case.context.hierarchy_weights
    off = case.limit("hierarchy-imbalance", "apart")
    starved = case.limit("hierarchy-imbalance", "least_share")
    wanted = {i: w / sum(weights) for i, w in enumerate(weights)} if weights and sum(weights) > 0 else {}
    told: list[tuple[bool, float, str, float, float]] = []
    for place, (tag, share) in levels.items():
        aim = wanted.get(place, 1 / len(levels))
        gap, grave = abs(share - aim), share > 1 - starved or share < starved * aim
        if grave or (wanted and gap > off):
            told.append((grave, gap, tag, share, aim))
    if not told:
        return None
    grave, gap, tag, share, aim = max(told)
    return case.finding(
        "hierarchy-imbalance",
        "warning" if grave else "info",
        tag,
        f"{tag} makes {100 * share:.0f} % of the loss where its weight is {100 * aim:.0f} %.",
        evidence=[Evidence(tag, "share of the loss, away from its weight", gap, off)],
    )
