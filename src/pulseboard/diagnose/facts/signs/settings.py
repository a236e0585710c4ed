"""Signs of the settings and of the machine: learning rate, weight decay, clipping, gradient norm, times, the end."""

from __future__ import annotations

import numpy as np

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.facts.learning import weights_move
from pulseboard.diagnose.facts.schedule import planned, schedule
from pulseboard.diagnose.facts.signs.sign import sign
from pulseboard.diagnose.track import Floats

_RATE_NAMES = frozenset({"lr", "learningrate", "baselr", "maxlr", "eta", "initiallr", "initlr", "lr0"})


def _peak_rate(case: Case) -> float | None:
    """The highest learning rate: as logged, else as configured."""
    rate = schedule(case).value
    if rate is not None:
        return rate.peak
    for name, value in case.context.config.items():
        last = name.rsplit(".", 1)[-1].rsplit("/", 1)[-1].lower().replace("_", "").replace("-", "")
        if last in _RATE_NAMES and isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    return None


@sign("lr-large", "the learning rate is higher than most optimizers tolerate", apart=True)
def lr_large(case: Case) -> bool | None:
    """0.02 with Adam and its like, 0.5 with SGD. If the optimizer is not known, 0.15 is large and 0.02 may be."""
    rate, adaptive = _peak_rate(case), case.context.adaptive
    if rate is None or (adaptive is None and 0.02 <= rate < 0.15):
        return None
    return rate >= (0.15 if adaptive is None else 0.02 if adaptive else 0.5)


@sign("lr-tiny", "the learning rate is so small that hardly anything moves", apart=True)
def lr_tiny(case: Case) -> bool | None:
    """5e-6 with any optimizer, 1e-4 with plain SGD; in between it depends on an optimizer that is not known."""
    rate, adaptive = _peak_rate(case), case.context.adaptive
    if rate is None or (adaptive is None and 5e-6 < rate <= 1e-4):
        return None
    return rate <= (1e-4 if adaptive is False else 5e-6)


@sign("lr-ordinary", "the learning rate is one that usually works", apart=True)
def lr_ordinary(case: Case) -> bool | None:
    """1e-4 to 5e-3 with Adam and its like, 3e-3 to 0.3 with SGD; if the optimizer is not known, 5e-4 to 5e-3."""
    rate, adaptive = _peak_rate(case), case.context.adaptive
    if rate is None:
        return None
    low, high = (5e-4, 5e-3) if adaptive is None else (1e-4, 5e-3) if adaptive else (3e-3, 0.3)
    if adaptive is None and not low <= rate <= high and 1e-5 < rate < 0.15:
        return None
    return low <= rate <= high


@sign("rate-gone-early", "the learning rate was almost 0 for most of the run", apart=True)
def rate_gone_early(case: Case) -> bool | None:
    rate = case.one("lr")
    if rate is None or rate.finite_count < 5:
        return None
    values = rate.points(most=1024).values
    return values.max() > 0 and float(np.mean(values < 0.03 * values.max())) > 0.4


@sign(
    "rate-rises-late", "the learning rate rose to twice its value or more after the first third of the run", apart=True
)
def rate_rises_late(case: Case) -> bool | None:
    rate = case.one("lr")
    if rate is None or rate.finite_count < 6:
        return None
    values = rate.points(most=1024).values[rate.finite_count // 3 if rate.finite_count <= 1024 else 341 :]
    lowest = np.minimum.accumulate(values)
    return bool((values > 2 * lowest + 1e-30).any())


@sign("decay-large", "the weight decay is 0.3 or more", apart=True)
def decay_large(case: Case) -> bool | None:
    decay = case.context.weight_decay
    return None if decay is None else decay >= 0.3


@sign("weights-still", "the weights do not move")
def weights_still(case: Case) -> bool | None:
    moves = weights_move(case).value
    return None if moves is None else not moves


# ---- the gradient norm


def _norms(case: Case, *, points: int) -> Floats | None:
    norm = case.one("gradient.norm")
    return None if norm is None or norm.finite_count < points else norm.points(most=512).values


@sign("gradient-falls", "the gradient norm has fallen to a fifth of its start")
def gradient_falls(case: Case) -> bool | None:
    norms = _norms(case, points=8)
    return None if norms is None else float(np.median(norms[-5:])) < 0.2 * float(np.median(norms[:3]))


@sign("gradient-grows", "the gradient norm has grown to 5 times its start")
def gradient_grows(case: Case) -> bool | None:
    norms = _norms(case, points=8)
    return None if norms is None else float(np.median(norms[-5:])) > 5 * float(np.median(norms[:3]))


@sign("gradient-high", "the gradient norm is above 20 for most of the run")
def gradient_high(case: Case) -> bool | None:
    norms = _norms(case, points=4)
    return None if norms is None else float(np.median(norms)) > 20


@sign("gradient-steady", "the gradient norm does not change over the run")
def gradient_steady(case: Case) -> bool | None:
    """As if it were measured on the same weights again and again."""
    norms = _norms(case, points=8)
    if norms is None:
        return None
    thirds = [float(np.median(part)) for part in np.array_split(norms, 3)]
    return max(thirds) < 1.1 * min(thirds)


@sign("gradient-zero", "the gradient norm is 0 for much of the run")
def gradient_zero(case: Case) -> bool | None:
    norms = _norms(case, points=4)
    return None if norms is None else float(np.mean(norms < 1e-7)) > 0.3


# ---- times and the end


@sign("slower", "a step takes at least 1.5 times as long as at the start", apart=True)
def slower(case: Case) -> bool | None:
    times = case.one("time.step")
    if times is None or times.finite_count < 12:
        return None
    values = times.points(most=512).values
    quarter = max(3, len(values) // 4)
    return float(np.median(values[-quarter:])) > 1.5 * float(np.median(values[:quarter]))


@sign("ended-early", "the log ends well before the plan does", apart=True)
def ended_early(case: Case) -> bool | None:
    done = planned(case).value
    return None if done is None else done < 0.9


@sign("rate-high-at-end", "the log ends while a decaying learning rate is still high")
def rate_high_at_end(case: Case) -> bool | None:
    rate = schedule(case).value
    if rate is None or rate.is_constant or rate.is_zero:
        return None
    return 0.3 < rate.left < 0.95
