"""Masking: how much of each sample is hidden."""

from __future__ import annotations

import math
from typing import Any

from pulseboard.instruments.arrays import floats, mean
from pulseboard.instruments.declare import Metric, instrument


@instrument(
    id="masking",
    every=100,
    metrics={
        "train/masking/mask_ratio": Metric(
            "1", "share of the patches that is masked", "0.4-0.7, the same in all batches"
        ),
        "train/masking/num_masked_patches": Metric("patches", "masked patches of a sample, on average", "steady"),
        "train/masking/num_unmasked_patches": Metric("patches", "visible patches of a sample, on average", "steady"),
    },
)
def masking(mask: Any, *, prefix: str = "train") -> dict[str, Any]:
    """`mask` is (samples, patches), or one sample's patches; what is not 0 is masked. NaN of no patches."""
    hidden = floats(floats(mask) != 0)
    patches = math.prod(hidden.shape[1:] if hidden.ndim > 1 else hidden.shape)
    ratio = mean(hidden)
    return {
        f"{prefix}/masking/mask_ratio": ratio,
        f"{prefix}/masking/num_masked_patches": ratio * patches,
        f"{prefix}/masking/num_unmasked_patches": (1 - ratio) * patches,
    }
