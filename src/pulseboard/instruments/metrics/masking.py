"""Masking: how much of each sample is hidden."""

from __future__ import annotations

import math
from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.math.arrays import floats, mean
from pulseboard.instruments.registry import instrument


@instrument(
    id="masking",
    every=100,
    metrics={
        "train/masking/mask_ratio": Metric("1", "share of patches that are masked", "0.4-0.7, the same in all batches"),
        "train/masking/num_masked_patches": Metric("patches", "mean number of masked patches per sample", "steady"),
        "train/masking/num_unmasked_patches": Metric("patches", "mean number of visible patches per sample", "steady"),
    },
)
def masking(mask: Any, *, prefix: str = "train") -> dict[str, Any]:
    """`mask` is (samples, patches), or the patches of one sample; non-zero means masked. NaN without patches."""
    hidden = floats(floats(mask) != 0)
    patches = math.prod(hidden.shape[1:] if hidden.ndim > 1 else hidden.shape)
    ratio = mean(hidden)
    return {
        f"{prefix}/masking/mask_ratio": ratio,
        f"{prefix}/masking/num_masked_patches": ratio * patches,
        f"{prefix}/masking/num_unmasked_patches": (1 - ratio) * patches,
    }
