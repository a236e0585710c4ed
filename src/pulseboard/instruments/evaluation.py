"""Evaluation: a data set's loss, its loss by noise level, and the time that took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pulseboard.instruments.arrays import floats, mean, module_of, same_kind, size
from pulseboard.instruments.declare import Metric, instrument

TENTHS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@instrument(
    id="evaluation",
    every=500,
    metrics={
        "{name}/loss": Metric(
            "1",
            "mean loss on the data set `name`",
            "falls with the training loss, a little above it; rising is overfitting",
        ),
        "eval/eval_time_sec": Metric("s", "time of one evaluation", "steady"),
    },
)
def evaluation(losses: Any, *, name: str = "validation", secs: float | None = None) -> dict[str, Any]:
    """The mean of one or many losses of a data set; NaN of none."""
    found = {f"{name}/loss": mean(floats(losses))}
    return found if secs is None else {**found, "eval/eval_time_sec": secs}


@instrument(
    id="loss_by_noise",
    every=500,
    metrics={
        "eval/{name}/loss_quantile_X.X": Metric(
            "1",
            "mean loss of the samples whose noise level lies in the band that ends at quantile X.X",
            "all fall; one that does not is a noise level the model struggles with",
        ),
    },
)
def loss_by_noise(
    timesteps: Any, losses: Any, *, name: str = "validation", quantiles: Sequence[float] = TENTHS
) -> dict[str, Any]:
    """The samples in the order of their timesteps, cut into bands of equal size, and the mean loss of each.

    0.1 is the tenth with the lowest timesteps, 1.0 that with the highest. Samples of one timestep may fall into
    two bands. A band without samples is left out.
    """
    values = floats(losses).reshape(-1)
    levels = same_kind(timesteps, like=values).reshape(-1)
    count = size(values)
    if size(levels) != count:
        raise ValueError(f"{size(levels)} timesteps came with {count} losses. Pass one loss a sample, not their mean.")
    order = module_of(levels).argsort(levels)  # NaN last, in torch as in NumPy
    ordered = values[order]
    found, start = {}, 0
    for quantile in sorted(quantiles):
        stop = int(count * quantile + 0.500001)  # halves up, and 0.7 is a little less than 7/10
        if stop > start:
            found[f"eval/{name}/loss_quantile_{_name(quantile)}"] = mean(ordered[start:stop])
            start = stop
    return found


def _name(quantile: float) -> str:
    return f"{quantile:.1f}" if round(quantile, 1) == quantile else f"{quantile:g}"
