"""Masking: how much of each sample is hidden."""

from __future__ import annotations

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
    patches = hidden.shape[1:].numel() if hasattr(hidden.shape, "numel") else hidden[:1].size
    if hidden.ndim < 2:
        patches = hidden.shape[0] if hidden.ndim else 1
    ratio = mean(hidden)
    return {
        f"{prefix}/masking/mask_ratio": ratio,
        f"{prefix}/masking/num_masked_patches": ratio * patches,
        f"{prefix}/masking/num_unmasked_patches": (1 - ratio) * patches,
    }
