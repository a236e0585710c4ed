"""Loss plateau: the loss has stopped falling while the learning rate is still high."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.detectors.loss_diverged import moving_target
from pulseboard.diagnose.statistics.noise import noise_scale, running_median
from pulseboard.diagnose.statistics.trend import Trend, trend
from pulseboard.diagnose.track import Floats, Points


@detector(id="loss-plateau", reads="train.loss")
def loss_plateau(case: Case) -> Iterator[Finding]:
    """Info, since a good run ends so too; a warning where it began early and high up, or above earlier runs."""
    loss = case.need("train.loss", points=20)
    steps, values = loss.points(most=512)
    later = steps > case.warm_up_step
    steps, values = steps[later], values[later]
    n = len(values)
    if n < 20:
        return
    start, level = float(loss.points(most=512).values[0]), float(np.median(values[-max(5, n // 5) :]))
    # What never fell at all is no plateau but flat.
    if start - level < case.limit("loss-plateau", "fallen") * abs(start):
        return
    began = _plateau_start(values, level)
    length = (n - began) / n
    part = Points(steps[began:], values[began:])
    if length < case.limit("loss-plateau", "share_of_run") or not _rate_is_high(case, int(part.steps[0])):
        return
    line = trend(part)
    if line is None or _falls(line, level, p=case.limit("loss-plateau", "p")):
        return
    away = case.departure("train.loss")
    grave = (away is not None and away.above and away.lasting) or (
        length >= case.limit("loss-plateau", "grave_share_of_run")
        and level > case.limit("loss-plateau", "grave_level") * start
        and not _high_by_nature(case)
    )
    yield case.finding(
        "loss-plateau",
        "warning" if grave else "info",
        loss,
        f"{loss.tag} has stood at about {level:.4g} since step {part.steps[0]}, {100 * length:.0f} % of the run"
        + (f", having begun at {start:.4g}." if grave else "."),
        first_step=int(part.steps[0]),
        evidence=[Evidence(loss.tag, "share of the run without a fall", length, None, int(part.steps[0]))],
    )


def _plateau_start(values: Floats, level: float) -> int:
    """The point from which the running median never leaves the final level by more than the noise of a window."""
    width = max(3, len(values) // 20)
    smooth = running_median(values, width)
    error = 3 * max(1.25 * noise_scale(values) / np.sqrt(width), 2e-3 * abs(level))
    away = np.flatnonzero(np.abs(smooth - level) > error)
    return int(away[-1]) + 1 if len(away) else 0


def _falls(line: Trend, level: float, *, p: float) -> bool:
    """Surely, and by more than a trifle."""
    return line.p_falling < p and line.start - line.end > 0.02 * abs(level)


def _high_by_nature(case: Case) -> bool:
    """Whether the loss has a floor far above zero that nobody knows: noise to predict, targets that move."""
    return moving_target(case) or bool(case.every("loss.quantiles"))


def _rate_is_high(case: Case, step: int) -> bool:
    """Whether the learning rate was still high where the plateau began."""
    rate = case.one("lr")
    if rate is None or not len(rate.points().values):
        return True
    steps, values = rate.points()
    return bool(values[min(len(values) - 1, int(np.searchsorted(steps, step)))] > 0.3 * values.max())
