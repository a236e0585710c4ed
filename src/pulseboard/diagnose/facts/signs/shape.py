"""Signs of the shape of the training loss: where it levels off, when it starts to fall, and whether it comes back."""

from __future__ import annotations

import numpy as np

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.facts.objective import loss_course, objective
from pulseboard.diagnose.facts.signs.loss import largest_jump
from pulseboard.diagnose.facts.signs.sign import sign
from pulseboard.diagnose.stats.course import Course, centered_median
from pulseboard.diagnose.track import Floats

_CLEAR = 4  # standard errors
_REACH = 5  # points around a jump of levels within which the jump itself is


def _values(case: Case, *, points: int) -> tuple[Floats, Course] | None:
    curve, found = objective(case).value, loss_course(case).value
    if curve is None or found is None or found.points < points:
        return None
    return curve.points.values, found


@sign("levels-off", "the training loss fell by a tenth or more and then leveled off high")
def levels_off(case: Case) -> bool | None:
    """What can be learned is learned: the rest of the model, or the labels, allow no more."""
    seen = _values(case, points=12)
    if seen is None:
        return None
    values, found = seen
    fell = found.start - found.end
    if fell < max(0.1 * abs(found.start), _CLEAR * found.error) or found.end < 0.3 * found.start:
        return False
    middle, last = (float(np.median(part)) for part in np.array_split(values, 3)[1:])
    return middle - last < 0.06 * fell


@sign("stops-suddenly", "learning went well and stopped suddenly")
def stops_suddenly(case: Case) -> bool | None:
    """The slope is cut off, where a plateau bends: the rate is gone, or the weights no longer change."""
    seen = _values(case, points=24)
    if seen is None:
        return None
    values, found = seen
    fell = found.start - found.end
    if fell < max(0.1 * abs(found.start), 2 * _CLEAR * found.error):
        return False
    level = centered_median(values, 3)
    done = int(np.argmax(level <= found.end + 0.1 * fell))
    if not 2 <= done < 0.4 * len(values):
        return False
    half = float(level[done // 2])
    later = values[done + max(1, done // 4) :]
    moved = abs(float(np.median(later[: len(later) // 2])) - float(np.median(later[len(later) // 2 :])))
    return half - found.end > 0.35 * fell and moved < max(0.01 * fell, found.error)


@sign("jump-from-calm", "the training loss was at its best right before it jumped")
def jump_from_calm(case: Case) -> bool | None:
    """A step that is too large shakes the loss for a while; other data comes from one step to the next."""
    seen = _values(case, points=12)
    if seen is None:
        return None
    values, found = seen
    at = largest_jump(values, found)
    if not at:
        return None
    near = max(1, at - _REACH)
    at = near + int(np.argmax(np.diff(values[near - 1 : at + _REACH])))
    before, after = values[max(0, at - 8) : at], values[at : at + 6]
    lowest, first, level = float(values[:at].min()), float(values[0]), float(np.median(before))
    calm = float(before.max()) < lowest + max(0.25 * (first - lowest), 6 * found.noise)
    return calm and float(after[0]) - level > 0.6 * (float(after.max()) - level)


@sign("smooth-loss", "the training loss has almost no noise from one point to the next")
def smooth_loss(case: Case) -> bool | None:
    """Every step sees the same examples. Means over epochs are smooth anyway, so there must be points in between."""
    seen = _values(case, points=24)
    evaluations = max((track.finite_count for track in case.every("val.loss")), default=0)
    if seen is None or not evaluations or len(seen[0]) < 3 * evaluations:
        return None
    _, found = seen
    return None if found.gain < 0.1 * abs(found.start) else found.noise < 0.005 * found.gain


@sign("part-gone", "a regularizing part of the loss is almost 0", apart=True)
def part_gone(case: Case) -> bool | None:
    """A divergence that outweighs the rest is brought to nothing first, and nothing is encoded then."""
    tracks = [track for track in case.every("vae.kl") if track.finite_count >= 4]
    found = loss_course(case).value
    if not tracks or found is None:
        return None
    return abs(float(np.median(tracks[0].tail.values[-3:]))) < 0.002 * abs(found.end)
