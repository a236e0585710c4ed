"""Quantile stuck: the loss at some noise levels is not improving while the others are."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import number, percent
from pulseboard.diagnose.stats.noise import noise_scale
from pulseboard.diagnose.track import Floats


@detector(id="quantile-stuck", reads="loss.quantiles")
def quantile_stuck(case: Case) -> Iterator[Finding]:
    """The relative fall of each band, compared with the median of all bands of its data set."""
    wrong_order = _wrong_order(case)
    if wrong_order is not None:
        yield wrong_order
        return
    sets: dict[str, dict[str, tuple[float, float]]] = {}
    for track in case.every("loss.quantiles"):
        values = track.points(most=256).values
        if len(values) < case.limit("quantile-stuck", "evaluations"):
            continue
        first, last = float(values[0]), float(np.median(values[-3:]))
        error = noise_scale(values) / max(abs(first), 1e-12)
        fall = (first - last) / first if first > 0 else 0.0
        sets.setdefault(track.tag.rsplit("loss_quantile", 1)[0], {})[track.tag] = (fall, error)
    for bands in sets.values():
        falls = np.array([fall for fall, _ in bands.values()])
        usual = float(np.median(falls))
        if len(bands) < 3 or usual < case.limit("quantile-stuck", "others_fall"):
            continue
        limit = case.limit("quantile-stuck", "share_of_others") * usual
        stuck = {
            tag: fall
            for tag, (fall, error) in bands.items()
            if fall < limit and usual - fall > 4 * error and not _still_falls(case, tag)
        }
        if not stuck or len(stuck) > len(bands) / 2:
            continue
        worst = min(stuck, key=lambda tag: stuck[tag])
        yield case.finding(
            "quantile-stuck",
            "warning",
            worst,
            f"{worst} {_moved(stuck[worst])} while the other noise bands fell by {percent(usual)}.",
            evidence=[Evidence(worst, "fall relative to its first value", stuck[worst], limit)],
        )


def _still_falls(case: Case, tag: str) -> bool:
    """Whether a band is slow but not stuck: it fell over the second half by more than its noise."""
    values = case.tracks[tag].points(most=256).values
    half, part = values[len(values) // 2 :], max(1, len(values) // 8)
    fall = float(np.median(half[:part]) - np.median(half[-part:]))
    return fall > max(case.limit("quantile-stuck", "still_falls") * abs(float(values[0])), 2 * noise_scale(values))


def _moved(fall: float) -> str:
    """`fell by only 3 %` or `rose by 3 %`."""
    return f"fell by only {percent(fall)}" if fall >= 0 else f"rose by {percent(-fall)}"


def _wrong_order(case: Case) -> Finding | None:
    """Bands in the order of a different target than the config says.

    Noise is easy to predict where there is little else, so the loss on noise is lowest in the noisiest band. Clean data
    is hard to predict there: its minimum square error never falls as noise is added (Guo, Shamai and Verdu, 2005).
    """
    declared = case.context.diffusion_target
    if declared not in ("noise", "data"):
        return None
    sets: dict[str, list[tuple[float, str, float, float]]] = {}
    for track in case.every("loss.quantiles"):
        noise, values = re.search(r"\d+(\.\d+)?$", track.tag), track.points(most=256).values
        if noise and len(values) >= case.limit("quantile-stuck", "evaluations"):
            row = (float(noise.group()), track.tag, float(values[0]), float(np.median(values[-3:])))
            sets.setdefault(track.tag.rsplit("loss_quantile", 1)[0], []).append(row)
    wrong = 1 if declared == "noise" else -1
    for bands in sets.values():
        bands.sort()
        starts, ends = np.array([band[2] for band in bands]), np.array([band[3] for band in bands])
        if len(bands) < 5 or not ends.min() > 0 or not starts.min() > 0:
            continue
        learned = float(np.median(1 - ends / starts)) >= case.limit("quantile-stuck", "others_fall")
        order, times = wrong * _rank_correlation(ends), float((ends[-1] / ends[0]) ** wrong)
        if not learned or order < case.limit("quantile-stuck", "order") or times < 2:
            continue
        tag = bands[-1 if declared == "noise" else 0][1]
        way, other = ("rises", "clean data") if declared == "noise" else ("falls", "noise")
        return case.finding(
            "quantile-stuck",
            "warning",
            tag,
            f"The loss {way} with the noise level, from {number(ends[0])} to {number(ends[-1])}, as if the model "
            f"predicted {other}; the config says {declared}.",
            evidence=[
                Evidence(
                    tag,
                    "rank correlation of noise level and loss",
                    wrong * order,
                    wrong * case.limit("quantile-stuck", "order"),
                )
            ],
        )
    return None


def _rank_correlation(values: Floats) -> float:
    """Between values and their positions (Spearman)."""
    ranks = np.argsort(np.argsort(values)).astype(np.float64)
    return float(np.corrcoef(np.arange(len(values)), ranks)[0, 1])
