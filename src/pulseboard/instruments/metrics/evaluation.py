"""Evaluation: the loss of a data set, its loss by noise level, and the time it took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.math.arrays import floats, mean, module_of, same_kind, size
from pulseboard.instruments.registry import instrument

TENTHS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@instrument(
    id="evaluation",
    every=500,
    metrics={
        "{name}/loss": Metric(
            "1",
            "mean loss on the data set `name`",
            "falls with the training loss, slightly above it; rising is overfitting",
        ),
        "eval/eval_time_sec": Metric("s", "time of one evaluation", "steady"),
    },
)
def evaluation(losses: Any, *, name: str = "validation", secs: float | None = None) -> dict[str, Any]:
    """The mean of one or many losses of a data set; NaN if there are none."""
    found = {f"{name}/loss": mean(floats(losses))}
    return found if secs is None else {**found, "eval/eval_time_sec": secs}


@instrument(
    id="loss_by_noise",
    every=500,
    metrics={
        "eval/{name}/loss_quantile_X.X": Metric(
            "1",
            "mean loss of samples with a noise level in the band that ends at quantile X.X",
            "all fall; the model struggles with a noise level that does not",
        ),
    },
)
def loss_by_noise(
    timesteps: Any, losses: Any, *, name: str = "validation", quantiles: Sequence[float] = TENTHS
) -> dict[str, Any]:
    """Sort the samples by timestep, cut them into bands of equal size, and return the mean loss of each band.

    0.1 is the tenth with the lowest timesteps, 1.0 the one with the highest. Samples with equal timesteps may end up
    in two bands. Bands without samples are left out.
    """
    values = floats(losses).reshape(-1)
    levels = same_kind(timesteps, like=values).reshape(-1)
    count = size(values)
    if size(levels) != count:
        raise ValueError(f"Got {size(levels)} timesteps but {count} losses. Pass one loss per sample, not their mean.")
    order = module_of(levels).argsort(levels)  # NaN last, in torch as in NumPy
    ordered = values[order]
    found, start = {}, 0
    for quantile in sorted(quantiles):
        stop = int(count * quantile + 0.500001)  # rounds half up, although 0.7 is slightly less than 7/10
        if stop > start:
            found[f"eval/{name}/loss_quantile_{_name(quantile)}"] = mean(ordered[start:stop])
            start = stop
    return found


def _name(quantile: float) -> str:
    return f"{quantile:.1f}" if round(quantile, 1) == quantile else f"{quantile:g}"
