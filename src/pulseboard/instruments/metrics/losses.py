"""Losses of a hierarchy: their weighted total, the share of each level, and how fast each falls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.math.arrays import mean, stacked
from pulseboard.instruments.math.window import Window
from pulseboard.instruments.registry import instrument


@instrument(
    id="hierarchical_losses",
    every=1,
    metrics={
        "train/loss/total": Metric("1", "weighted sum of the levels' losses", "falls fast, then slowly"),
        "train/loss/h{i}": Metric(
            "1", "unweighted loss of level i; 0 is the finest", "falls; coarse levels settle last"
        ),
        "train/loss/unweighted": Metric("1", "unweighted mean of the levels' losses", "falls with the total"),
        "train/loss/contribution_h{i}": Metric(
            "%", "share of level i in the total, with its weight", "50-70, 25-40 and 5-15 for levels 0, 1 and 2"
        ),
    },
)
def hierarchical_losses(
    losses: Sequence[Any], *, weights: Sequence[float] | None = None, prefix: str = "train"
) -> dict[str, Any]:
    """`losses` are those of the levels, finest first. Weights default to 1; a total of 0 has NaN shares."""
    levels = stacked(losses)
    factors = [1.0] * len(levels) if weights is None else [float(weight) for weight in weights]
    if len(factors) != len(levels):
        raise ValueError(f"Got {len(levels)} losses but {len(factors)} weights. Pass one weight per level.")
    parts = [loss * factor for loss, factor in zip(levels, factors, strict=True)]
    total = sum(parts[1:], start=parts[0]) if parts else mean(levels)
    found = {f"{prefix}/loss/total": total, f"{prefix}/loss/unweighted": mean(levels)}
    for i, (loss, part) in enumerate(zip(levels, parts, strict=True)):
        found[f"{prefix}/loss/h{i}"] = loss
        found[f"{prefix}/loss/contribution_h{i}"] = 100 * part / total
    return found


@instrument(
    id="convergence",
    every=1,
    metrics={
        "train/convergence/rate_h{i}": Metric(
            "1",
            "relative fall of level i's loss from the older half of the window to the newer",
            "above 0, approaching 0 over the run; below 0 the loss rises",
        ),
    },
)
class Convergence:
    """Call it at every step with the losses of the levels. It returns values from the second step on."""

    def __init__(self, *, window_steps: int = 100, prefix: str = "train") -> None:
        self.window_steps = window_steps
        self.prefix = prefix
        self._windows: list[Window] = []

    def __call__(self, losses: Sequence[Any]) -> dict[str, Any]:
        """(older - newer) / |older| of the means of the window's halves; the middle of an odd window is left out."""
        found = {}
        for i, loss in enumerate(losses):
            if i == len(self._windows):
                self._windows.append(Window(self.window_steps))
            self._windows[i].add(loss)
            half = len(self._windows[i]) // 2
            if half:
                values = self._windows[i].values()
                older, newer = values[:half].mean(), values[-half:].mean()
                found[f"{self.prefix}/convergence/rate_h{i}"] = (older - newer) / abs(older)
        return found
