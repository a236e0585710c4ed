"""Speed of light: the tokens per second that a GPU's peak rate allows, and how close a step came to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.gpus import Gpu, known_gpu
from pulseboard.instruments.registry import instrument


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """The shape of a decoder-only transformer with identical blocks."""

    layers: int
    hidden: int
    heads: int
    vocab: int
    seq_len: int
    intermediate: int  # width of the feed-forward part, or of one expert
    kv_heads: int | None = None  # default: as many as heads
    head_dim: int | None = None  # default: hidden / heads
    gated: bool = True  # three matrices in the feed-forward part (SwiGLU) instead of two
    experts: int = 0  # 0: no mixture of experts
    active_experts: int = 1  # experts per token, including shared ones
    causal: bool = True  # tokens attend only to earlier ones: half of the pairs


@dataclass(frozen=True, slots=True)
class Flops:
    """Floating-point operations of matrix products; a multiplication with its addition counts as two."""

    blocks: float  # projections and feed-forward parts
    lm_head: float
    attention: float  # queries times keys, and weights times values

    @property
    def total(self) -> float:
        """All three."""
        return self.blocks + self.lm_head + self.attention


def flops(shape: ModelShape, *, tokens: float = 1, training: bool = True, recompute: bool = False) -> Flops:
    """Operations for `tokens`: 2 per weight forward, twice that backward, forward again if blocks are recomputed."""
    head_dim = shape.head_dim or shape.hidden // shape.heads
    inner = shape.heads * head_dim
    kv_inner = (shape.kv_heads or shape.heads) * head_dim
    projections = shape.hidden * (2 * inner + 2 * kv_inner)
    feed_forward = (3 if shape.gated else 2) * shape.hidden * shape.intermediate
    if shape.experts:
        feed_forward = feed_forward * shape.active_experts + shape.hidden * shape.experts
    pairs = shape.seq_len * (0.5 if shape.causal else 1.0)
    passes = 3 if training else 1
    passes_of_blocks = passes + (1 if training and recompute else 0)
    return Flops(
        blocks=2.0 * shape.layers * (projections + feed_forward) * passes_of_blocks * tokens,
        lm_head=2.0 * shape.hidden * shape.vocab * passes * tokens,
        attention=4.0 * shape.layers * inner * pairs * passes_of_blocks * tokens,
    )


@instrument(
    id="speed_of_light",
    every=1,
    metrics={
        "sol/blocks": Metric("FLOP", "operations per token: projections and feed-forward parts", "fixed"),
        "sol/lm_head": Metric("FLOP", "operations per token: language-model head", "fixed"),
        "sol/attention": Metric("FLOP", "operations per token: attention itself", "fixed"),
        "sol/tps": Metric("1/s", "tokens per second if every operation ran at the peak rate", "fixed"),
        "sol/tf32_peak": Metric("TFLOP/s", "the GPU's peak rate in TF32", "fixed"),
        "sol/bf16_peak": Metric("TFLOP/s", "the GPU's peak rate in bfloat16", "fixed"),
        "sol/fp16_peak": Metric("TFLOP/s", "the GPU's peak rate in float16", "fixed"),
        "sol/fp8_peak": Metric("TFLOP/s", "the GPU's peak rate in 8-bit floats", "fixed"),
    },
)
def speed_of_light(
    shape: ModelShape,
    *,
    gpu: str | Gpu,
    gpus: int = 1,
    dtype: str = "bf16",
    lm_head_dtype: str | None = None,
    attention_dtype: str | None = None,
    training: bool = True,
    recompute: bool = False,
) -> dict[str, Any]:
    """Constant over a run, so log it once. Empty for a GPU that is not in the table.

    Peak rates that the GPU lacks are left out, and so is `tps` if it needs one of them.
    """
    known = known_gpu(gpu) if isinstance(gpu, str) else gpu
    if known is None:
        return {}
    work = flops(shape, training=training, recompute=recompute)
    found = {"sol/blocks": work.blocks, "sol/lm_head": work.lm_head, "sol/attention": work.attention}
    parts = (
        (work.blocks, known.peak(dtype)),
        (work.lm_head, known.peak(lm_head_dtype or dtype)),
        (work.attention, known.peak(attention_dtype or dtype)),
    )
    secs = [operations / (gpus * peak * 1e12) for operations, peak in parts if peak]
    if len(secs) == len(parts) and sum(secs) > 0:
        found["sol/tps"] = 1.0 / sum(secs)
    for name in ("tf32", "bf16", "fp16", "fp8"):
        peak = known.peak(name)
        if peak is not None:
            found[f"sol/{name}_peak"] = peak
    return found


@instrument(
    id="speed_of_light_share",
    every=1,
    metrics={
        "sol/percentage": Metric(
            "%",
            "time that the step's tokens need at the peak rate, over the measured time",
            "80 is excellent; investigate below 60",
        ),
    },
)
def speed_of_light_share(*, step_tokens: float, step_secs: float, tps: float) -> dict[str, Any]:
    """`tps` comes from `speed_of_light`. A step of 0 seconds gives NaN."""
    share = 100.0 * step_tokens / tps / step_secs if step_secs and tps else float("nan")
    return {"sol/percentage": share}
