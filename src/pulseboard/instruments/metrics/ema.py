"""EMA: how far a target network has drifted from the one it follows."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from pulseboard.core.metric import Metric
from pulseboard.instruments.math.arrays import floats, mean, module_of, size, stacked
from pulseboard.instruments.registry import instrument
from pulseboard.record.arrays import is_tensor

# The number of differences in memory at a time: 64 MB of float32 in addition to the model.
_CHUNK_NUMBERS = 16 << 20


@instrument(
    id="ema",
    every=500,
    metrics={
        "train/ema/momentum_current": Metric(
            "1", "share of its old weights that the target keeps at this step", "rises smoothly from 0.996 to 1"
        ),
        "train/ema/momentum_target": Metric("1", "final value of the momentum schedule", "1, constant"),
        "train/ema/avg_parameter_divergence": Metric(
            "1",
            "L2 norm of context minus target, averaged over the parameter tensors",
            "rises, then stays level; ten times that level is too much",
        ),
        "train/ema/weight_magnitude_ratio": Metric(
            "1", "L2 norm of all target weights over that of the context weights", "about 1, between 0.8 and 1.2"
        ),
    },
)
def ema(
    context: Iterable[Any],
    target: Iterable[Any],
    *,
    momentum: float,
    momentum_target: float = 1.0,
    prefix: str = "train",
) -> dict[str, Any]:
    """Compare two lists of parameters in the same order. NaN if both are empty."""
    context, target = list(context), list(target)
    if len(context) != len(target):
        raise ValueError(
            f"The context has {len(context)} parameters and the target {len(target)}. Pass the same parameters of both."
        )
    differences, context_norms, target_norms = _norms(context, target)
    xp = module_of(differences)
    ratio = xp.sqrt((target_norms**2).sum()) / xp.sqrt((context_norms**2).sum())
    return {
        f"{prefix}/ema/momentum_current": momentum,
        f"{prefix}/ema/momentum_target": momentum_target,
        f"{prefix}/ema/avg_parameter_divergence": mean(differences),
        f"{prefix}/ema/weight_magnitude_ratio": ratio,
    }


def _norms(context: list[Any], target: list[Any]) -> tuple[Any, Any, Any]:
    """Norms per parameter: of the difference, of the context, of the target."""
    if not any(is_tensor(parameter) for parameter in context):
        pairs = [(floats(c), floats(t)) for c, t in zip(context, target, strict=True)]
        norm = np.linalg.norm
        found = [(norm((c - t).ravel()), norm(c.ravel()), norm(t.ravel())) for c, t in pairs]
        columns = np.asarray(found).reshape(-1, 3).T
        return columns[0], columns[1], columns[2]
    torch: Any = sys.modules["torch"]
    norms: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    for start, stop in _chunks(context):
        contexts = [floats(parameter) for parameter in context[start:stop]]
        targets = [floats(t).to(c.device) for c, t in zip(contexts, target[start:stop], strict=True)]
        for kept, tensors in zip(norms, (torch._foreach_sub(contexts, targets), contexts, targets), strict=True):
            kept.extend(torch._foreach_norm(tensors))
    return stacked(norms[0]), stacked(norms[1]), stacked(norms[2])


def _chunks(parameters: list[Any]) -> Iterator[tuple[int, int]]:
    start, numbers = 0, 0
    for i, parameter in enumerate(parameters):
        if i > start and numbers + size(parameter) > _CHUNK_NUMBERS:
            yield start, i
            start, numbers = i, 0
        numbers += size(parameter)
    yield start, len(parameters)
