"""Speed of light: the tokens a second that a GPU's peak rate allows a transformer, and how near a step came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pulseboard.instruments.declare import Metric, instrument
from pulseboard.instruments.gpus import Gpu, known_gpu


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """The shape of a decoder-only transformer. All blocks are alike."""

    layers: int
    hidden: int
    heads: int
    vocab: int
    seq_len: int
    intermediate: int  # of the feed-forward part, or of one expert
    kv_heads: int | None = None  # as many as heads, unless fewer
    head_dim: int | None = None  # hidden / heads, unless told
    gated: bool = True  # three matrices in the feed-forward part (SwiGLU), not two
    experts: int = 0  # 0: no mixture of experts
    active_experts: int = 1  # a token's experts, shared ones too
    causal: bool = True  # a token looks at those before it: half of the pairs


@dataclass(frozen=True, slots=True)
class Flops:
    """Floating-point operations; a multiplication with its addition is two. Only matrix products count."""

    blocks: float  # projections and feed-forward parts
    lm_head: float
    attention: float  # queries with keys, and weights with values

    @property
    def total(self) -> float:
        """All three."""
        return self.blocks + self.lm_head + self.attention


def flops(shape: ModelShape, *, tokens: float = 1, training: bool = True, recompute: bool = False) -> Flops:
    """What `tokens` cost: 2 a weight forward, twice that backward, and forward again where blocks are recomputed."""
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
        "sol/blocks": Metric("FLOP", "operations of the blocks' projections and feed-forward parts, a token", "fixed"),
        "sol/lm_head": Metric("FLOP", "operations of the language-model head, a token", "fixed"),
        "sol/attention": Metric("FLOP", "operations of attention proper, a token", "fixed"),
        "sol/tps": Metric("1/s", "tokens a second if every operation ran at the peak rate", "fixed"),
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
    """What does not change over a run: log it once. Empty for a GPU that is not in the table.

    A peak rate that the GPU does not have is left out, and `tps` with it if it was to be used.
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
            "time that the step's tokens need at the peak rate, over the time it took",
            "80 is excellent; look below 60",
        ),
    },
)
def speed_of_light_share(*, step_tokens: float, step_secs: float, tps: float) -> dict[str, Any]:
    """`tps` is `speed_of_light`'s. A step of no time gives NaN."""
    share = 100.0 * step_tokens / tps / step_secs if step_secs and tps else float("nan")
    return {"sol/percentage": share}
