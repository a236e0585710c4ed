"""Hierarchy imbalance: a level's share of the loss is far from its configured weight."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import number, percent
from pulseboard.diagnose.track import Track

# Medians of shares add up to about 1. A level that is not logged leaves them below it, but not below half of it.
_MOST_OF_ONE, _LEAST_PERCENT = 1.1, 50.0


@detector(id="hierarchy-imbalance", reads="loss.contribution")
def hierarchy_imbalance(case: Case) -> Iterator[Finding]:
    """Compare the applied weights with the config; if they agree, the shares over the second half of the run."""
    for split, tracks in _by_split(case, "loss.contribution").items():
        losses = _by_split(case, "loss.levels").get(split, {})
        found = _other_weights(case, tracks, losses) or _uneven(case, tracks, losses)
        if found is not None:
            yield found
            return


def _by_split(case: Case, role: str) -> dict[str, dict[int, Track]]:
    """The series of each level, by the prefix of their tags, so that training and validation are not mixed."""
    splits: dict[str, dict[int, Track]] = {}
    for track in case.every(role):
        level = re.search(r"\d+$", track.tag)
        if level and track.finite_count >= 5:
            prefix = re.sub(r"[^a-z]*(contribution)?[^a-z]*(h|level)?[^a-z]*$", "", track.tag[: level.start()].lower())
            splits.setdefault(prefix, {})[int(level.group())] = track
    return splits


def _other_weights(case: Case, contributions: dict[int, Track], losses: dict[int, Track]) -> Finding | None:
    """A level's contribution divided by its own loss is its weight, up to a factor that all levels share."""
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
    # If the logged losses already include the weights, they say nothing about them.
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
        f"{losses[worst].tag} enters the loss with {number(factor)} times its configured weight, relative to the other "
        f"levels ({track.tag}).",
        evidence=[Evidence(track.tag, "applied weight relative to the configured weight", factor, times)],
    )


def _later(track: Track) -> float:
    """The median over the second half of the run."""
    values = track.points(most=256).values
    return float(np.median(values[len(values) // 2 :]))


def _whole(amounts: Iterable[float]) -> float:
    """What contributions are shares of, decided for all levels together: 1, 100 or, for losses, their sum."""
    total = sum(amounts)
    if total <= _MOST_OF_ONE:
        return 1.0
    return 100.0 if _LEAST_PERCENT <= total <= 100 * _MOST_OF_ONE else total


def _uneven(case: Case, tracks: dict[int, Track], losses: dict[int, Track]) -> Finding | None:
    """Shares far from the configured weights; without weights, only a level with nearly all of the loss or none."""
    amounts = {place: _later(track) for place, track in tracks.items()}
    whole = _whole(amounts.values())
    levels: dict[int, tuple[str, float]] = {}
    for place, track in tracks.items():
        # A level with a loss of 0 has nothing to predict; the weights do not matter there.
        if place in losses and float(np.median(losses[place].points(most=256).values)) == 0.0:
            continue
        levels[place] = (track.tag, amounts[place] / whole)
    if len(levels) < 2:
        return None
    weights = case.context.hierarchy_weights
    off = case.limit("hierarchy-imbalance", "apart")
    starved = case.limit("hierarchy-imbalance", "least_share")
    wanted = {i: w / sum(weights) for i, w in enumerate(weights)} if weights and sum(weights) > 0 else {}
    found: list[tuple[bool, float, str, float, float]] = []
    for place, (tag, share) in levels.items():
        aim = wanted.get(place, 1 / len(levels))
        gap, extreme = abs(share - aim), share > 1 - starved or share < starved * aim
        if extreme or (wanted and gap > off):
            found.append((extreme, gap, tag, share, aim))
    if not found:
        return None
    extreme, gap, tag, share, aim = max(found)
    return case.finding(
        "hierarchy-imbalance",
        "warning" if extreme else "info",
        tag,
        f"{tag} makes up {percent(share)} of the loss; "
        + (f"its configured weight is {percent(aim)}." if wanted else f"an equal share would be {percent(aim)}."),
        evidence=[Evidence(tag, "difference between its share of the loss and its weight", gap, off)],
    )
