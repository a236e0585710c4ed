"""Does a fault leave a trace? Its curves against those of its healthy twin: same task, settings and seed.

Nothing of the diagnosis is used here. Curves are means over twentieths of the training. The unit is what the twin
gained, plus how far two healthy seeds are apart.
"""

from dataclasses import dataclass

import numpy as np

from zoo.small.record import RISING, Record

BINS = 20
# A fault that costs less than this share of the twin's gain at the end, and at no time half of it, leaves no trace.
COSTLY = 0.25
PASSING = 0.5
# Times, memory and gradients that grow by this factor within the training show.
GROWTH = {"step_secs": 1.5, "memory_mb": 1.5, "grad_norm": 5.0}
# Learning rates that differ by this factor from the twin's show.
OTHER_RATE = 2.0
GAINED = 0.03
WORSE_AT_END = 0.15
QUALITY = (
    "loss",
    "acc",
    "iou",
    "map",
    "mae",
    "return",
    "d_loss",
    "g_loss",
    "val_loss",
    "val_acc",
    "val_iou",
    "val_map",
)


@dataclass(frozen=True)
class Trace:
    """How a training differs from its twin."""

    cost: float  # of the twin's gain, in the last quarter, by the metric that lost most
    shows: tuple[str, ...]  # why it can be seen; empty: no trace

    @property
    def visible(self) -> bool:
        """Whether there is a trace."""
        return bool(self.shows)


def trace(faulty: Record, twin: Record, again: Record, *, shows_in: tuple[str, ...]) -> Trace:
    """Compare a training with its twin, and with what another seed does."""
    mine, healthy, other = map(curves, (faulty, twin, again))
    shows, cost = [], 0.0
    for name in mine.keys() & healthy.keys():
        if np.isnan(mine[name]).any() and not np.isnan(healthy[name]).any():
            shows.append(f"{name} is not finite")
        elif name in QUALITY:
            harm = _harm(name, mine[name], healthy[name], other[name])
            end = float(np.mean(harm[-BINS // 4 :]))
            cost = max(cost, end)
            if end >= COSTLY:
                shows.append(f"{name} ends worse")
            elif np.any(harm >= PASSING):
                shows.append(f"{name} is worse for a while")
        elif (
            name in shows_in and name in GROWTH and _growth(mine[name]) >= GROWTH[name] * max(1, _growth(healthy[name]))
        ):
            shows.append(f"{name} grows")
        elif name in shows_in and name == "lr" and _rates_differ(mine[name], healthy[name]):
            shows.append("the learning rate is another one")
    return Trace(round(min(cost, 1e6), 3), tuple(sorted(shows)))


def sound(record: Record) -> bool:
    """Whether a training that is meant to be healthy learns something and ends near its best evaluation."""
    found = curves(record)
    if any(np.isnan(curve).any() for curve in found.values()):
        return False
    if "return" in found:
        return _gain(found["return"]) > GAINED * (1 + abs(float(found["return"][0])))
    if "loss" not in found:
        return True
    falls = float(found["loss"][0] - found["loss"][-1]) > GAINED * abs(float(found["loss"][0]))
    val = np.array([row.values["val_loss"] for row in record.val]) if record.val else found["loss"]
    drop = float(val[0] - val.min())
    return falls and drop > 0 and float(np.mean(val[-3:]) - val.min()) < WORSE_AT_END * drop


def curves(record: Record) -> dict[str, np.ndarray]:
    """Each metric as means over equal parts of the training; NaN where a value is not finite."""
    found = {}
    for rows in (record.train, record.val):
        for name in rows[0].values if rows else ():
            at = np.array([(row.step - 1) / record.steps for row in rows])
            values = np.array([row.values[name] for row in rows], float)
            values[~np.isfinite(values)] = np.nan
            parts = np.minimum((at * BINS).astype(int), BINS - 1)
            means = np.array([values[parts == i].mean() if (parts == i).any() else np.inf for i in range(BINS)])
            found[name] = _filled(means)
    return found


def _filled(means: np.ndarray) -> np.ndarray:
    """Parts without a point take the next one's value, or the last one's."""
    known = np.flatnonzero(~np.isinf(means))
    after = np.minimum(np.searchsorted(known, np.arange(len(means))), len(known) - 1)
    return means[known[after]]


def _harm(name: str, mine: np.ndarray, healthy: np.ndarray, other: np.ndarray) -> np.ndarray:
    sign = -1.0 if name.removeprefix("val_") in RISING else 1.0
    unit = _gain(healthy) + float(np.max(np.abs(healthy - other))) + 1e-9
    if name in ("d_loss", "g_loss"):
        return np.abs(mine - healthy) / (unit + 1.0)
    return sign * (mine - healthy) / unit


def _gain(curve: np.ndarray) -> float:
    return float(np.max(curve) - np.min(curve))


def _growth(curve: np.ndarray) -> float:
    return float(np.mean(curve[-4:]) / max(1e-12, np.mean(curve[:4])))


def _rates_differ(mine: np.ndarray, healthy: np.ndarray) -> bool:
    with np.errstate(all="ignore"):
        ratio = np.abs(np.log((mine[:-1] + 1e-12) / (healthy[:-1] + 1e-12)))
    return bool(np.sum(ratio > np.log(OTHER_RATE)) >= BINS // 4)
