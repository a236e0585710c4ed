"""Clipping: how often, and how strongly, gradients are clipped to a maximum norm."""

from __future__ import annotations

from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.math.arrays import at_most, floats, module_of, scalar
from pulseboard.instruments.registry import instrument

# torch.nn.utils.clip_grad_norm_ adds this to the norm before it divides.
_CLIP_EPSILON = 1e-6


@instrument(
    id="clipping",
    every=1,
    metrics={
        "train/gradient/global_norm_before_clip": Metric(
            "1", "L2 norm of all gradients before clipping", "steady; above 10 the run may be unstable"
        ),
        "train/gradient/global_norm_after_clip": Metric(
            "1", "L2 norm of all gradients after clipping", "max_norm or less"
        ),
        "train/gradient/clipping_ratio": Metric("1", "norm after clipping over norm before", "1 at most of the steps"),
        "train/gradient/was_clipped": Metric("1", "1 if this step's gradients were clipped, else 0", "mostly 0"),
        "train/gradient/clipping_percentage": Metric(
            "%", "share of the steps so far that were clipped", "below 5-10; above 50 the learning rate is too high"
        ),
    },
)
class Clipping:
    """Call it at every step, because it counts, with the norm that `clip_grad_norm_` returned."""

    def __init__(self, max_norm: float, *, prefix: str = "train") -> None:
        self.max_norm = max_norm
        self.prefix = prefix
        self.steps = 0
        self._clipped: Any = 0

    def __call__(self, norm_before: Any, norm_after: Any = None) -> dict[str, Any]:
        """`norm_after` defaults to what `clip_grad_norm_` leaves. NaN is not clipped; a norm of 0 has ratio 1."""
        before = floats(norm_before).reshape(())
        xp = module_of(before)
        one = xp.ones_like(before)
        if norm_after is None:
            after = before * at_most(self.max_norm / (before + _CLIP_EPSILON), 1.0)
        else:
            after = scalar(norm_after)
        clipped = xp.where(before > self.max_norm, one, 0 * one)
        self.steps += 1
        self._clipped = clipped + self._clipped
        found = {
            "global_norm_before_clip": before,
            "global_norm_after_clip": after,
            "clipping_ratio": xp.where(before == 0, one, after / before),
            "was_clipped": clipped,
            "clipping_percentage": 100 * self._clipped / self.steps,
        }
        return {f"{self.prefix}/gradient/{name}": value for name, value in found.items()}
