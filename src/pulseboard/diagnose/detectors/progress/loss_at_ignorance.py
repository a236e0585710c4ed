"""Loss at ignorance: the loss is no better than random guessing."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.objective import objective
from pulseboard.diagnose.facts.scores import accuracies, choices, scale_of
from pulseboard.diagnose.phrases import number
from pulseboard.diagnose.stats.noise import noise_scale

SLUG = "loss-at-ignorance"
# Common numbers of classes. A loss that settles on the log of one of them is not a coincidence.
# Times the loss of a guess, up to which a loss may begin that never got anywhere.
_BEGAN = 1.5
_USUAL = (2, 3, 4, 5, 10, 20, 50, 100, 1000)


@detector(id=SLUG, reads="train.loss")
def loss_at_ignorance(case: Case) -> Iterator[Finding]:
    """The last third of the run is close to the log of the number of choices."""
    curve = objective(case).value
    if curve is None or len(curve.points.values) < case.patient(case.limit(SLUG, "points")):
        raise TooShort(f"needs {case.limit(SLUG, 'points'):.0f} points of a training loss")
    steps, values = curve.points
    if case.planned_steps and (case.progress(int(steps[-1])) or 0) < case.limit(SLUG, "progress"):
        return
    last = values[-max(3, len(values) // 3) :]
    level = float(np.median(last))
    slack = case.limit(SLUG, "slack")
    known = choices(case)
    if known.value:
        guess = math.log(known.value)
        if not (1 - slack) * guess <= level <= (1 + 3 * slack) * guess:
            return
        among = known.value
    else:
        settled = _settled_on(case, values, level)
        if settled is None:
            return
        among, guess = settled, math.log(settled)
    sure = known.confidence > 0.9
    yield case.finding(
        SLUG,
        "critical" if sure else "warning",
        curve.tag,
        f"{curve} is {number(level)} in the last third of the run; random guessing among {among} gives "
        f"{number(guess)}.",
        evidence=[
            Evidence(curve.tag, "median of the last third", level, (1 - slack) * guess, int(steps[-1]), on_curve=True)
        ],
    )


def _settled_on(case: Case, values: np.ndarray, level: float) -> int | None:
    """A common number of choices whose log the loss has settled on, unless an accuracy contradicts it."""
    near = case.limit(SLUG, "near")
    later = values[len(values) // 3 :]
    part = max(1, len(later) // 3)
    error = 1.25 * noise_scale(later) / math.sqrt(part)
    among = next(
        (n for n in _USUAL if abs(level - math.log(n)) <= near * math.log(n) + min(2 * error, near * math.log(n))), None
    )
    if among is None or error > 4 * near * level:
        return None
    # A loss that began far above a guess and came down has learned; that it stopped here is a coincidence.
    if float(np.median(values[:3])) > _BEGAN * math.log(among) and not accuracies(case):
        return None
    levels = [float(np.median(later[i * part : (i + 1) * part])) for i in range(3)]
    if max(abs(one - level) for one in levels) > 2 * near * level + 3 * error:
        return None
    for track in accuracies(case):
        scores = track.points(most=256).values * scale_of(track)
        if len(scores) and float(np.median(scores[-max(1, len(scores) // 3) :])) > 1.3 / among:
            return None
    return among
