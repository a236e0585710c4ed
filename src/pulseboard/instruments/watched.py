"""What `pb.watch` measures: each group of tags with its unit, meaning, expected behaviour and cadence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pulseboard.instruments.declare import Metric


@dataclass(frozen=True, slots=True)
class Watched:
    """A group of tags that one pass over the model gives."""

    every: int  # steps between two measurements; the logging-frequency table of the H-JEPA guide, or its spirit
    metrics: Mapping[str, Metric]  # by tag; {part}, {layer}, {i} and {name} stand for what the model has


# The tags of histograms; `histogram_tags` of watch() may say others.
HISTOGRAM_TAGS = ("Parameters/{name}", "Gradients/{name}")

# By the names that `every` of watch() knows. A {part} is the first word of a parameter's name, a {layer} all up to
# the first number: `transformer` and `transformer.h.0` of `transformer.h.0.mlp.c_fc.weight`.
WATCHED: Mapping[str, Watched] = {
    "gradient_norm": Watched(
        1,
        {
            "train/gradient_flow/global_norm": Metric(
                "1", "L2 norm of all gradients as the optimizer gets them, so after clipping", "steady, not growing"
            ),
        },
    ),
    "gradient_flow": Watched(
        100,
        {
            "train/gradient_flow/{part}_mean": Metric("1", "mean size of the part's gradients", "above 0; 0 if frozen"),
            "train/gradient_flow/{part}_max": Metric("1", "largest gradient of the part", "steady"),
            "train/gradient_flow/{layer}_norm": Metric(
                "1", "L2 norm of the layer's gradients", "within three powers of ten from first to last layer"
            ),
        },
    ),
    "sparsity": Watched(
        500,
        {
            "train/gradient_flow/zero_share": Metric(
                "1", "share of the gradients' numbers that are exactly 0", "near 0, but for rows of unused tokens"
            ),
            "train/gradient_flow/none_share": Metric(
                "1", "share of the trained parameters that got no gradient", "0; more is cut off from the loss"
            ),
            "train/gradient_flow/left_over": Metric(
                "1",
                "L2 norm of what the step before left in one parameter's gradient, as backward comes to it",
                "0; more: zero_grad() is missing",
            ),
        },
    ),
    "parameter_norm": Watched(
        100,
        {"train/total_param_norm": Metric("1", "L2 norm of all parameters", "grows slowly, then stays level")},
    ),
    "update": Watched(
        100,
        {
            "train/update_ratio": Metric(
                "1", "L2 norm of what the step changed over that of what it changed", "about 0.001; 0 is no training"
            ),
            "train/update_ratio/{part}": Metric("1", "the same of one part", "alike; 0 if the optimizer lacks it"),
            "train/learning_rate/avg_param_update": Metric("1", "mean size of a parameter's change", "falls slowly"),
        },
    ),
    "learning_rate": Watched(
        100,
        {
            "train/learning_rate/base_lr": Metric("1", "learning rate of the first group", "as scheduled"),
            "train/learning_rate/param_group_{i}": Metric("1", "learning rate of group i", "as scheduled"),
        },
    ),
    "amp": Watched(
        100,
        {
            "amp/loss_scale": Metric("1", "loss scale of mixed precision, with `scaler=`", "steady after the start"),
            "amp/skipped_steps": Metric("steps", "steps that overflow skipped so far", "a few at the start"),
        },
    ),
    "performance": Watched(
        100,
        {
            "train/performance/forward_time_ms": Metric("ms", "forward, averaged since it was last told", "steady"),
            "train/performance/backward_time_ms": Metric("ms", "backward, and what comes before the step", "steady"),
            "train/performance/total_time_ms": Metric("ms", "forward and backward together", "steady"),
            "train/performance/optimizer_time_ms": Metric("ms", "the optimizer's step", "steady"),
            "train/performance/data_time_ms": Metric("ms", "from a step's end to the next forward", "small and steady"),
            "train/performance/step_time_ms": Metric("ms", "from one step's end to the next one's", "steady"),
            "train/performance/samples_per_second": Metric("1/s", "samples of this rank", "steady"),
            "train/performance/tokens_per_second": Metric("1/s", "token ids of this rank, where they go in", "steady"),
            "train/performance/forward_backward_ratio": Metric("1", "forward time over backward time", "0.5-1.5"),
            "train/performance/memory_rss": Metric("bytes", "resident memory of the process", "steady; growth leaks"),
            "train/performance/gpu_memory_allocated_gb": Metric("GiB", "GPU memory that tensors occupy", "steady"),
            "train/performance/gpu_memory_reserved_gb": Metric("GiB", "GPU memory that torch holds", "steady"),
        },
    ),
    "dead_units": Watched(
        100,
        {
            "train/dead_units/{name}": Metric(
                "1", "share of an activation's units that were 0 for the whole batch, with `dead_units=True`", "near 0"
            ),
        },
    ),
    "timing": Watched(
        1,
        {
            "rank/step_time": Metric("s", "of each rank: time of the step", "alike on all ranks"),
            "rank/forward_time": Metric("s", "of each rank: time of its forward passes", "alike; a slow rank is seen"),
            "rank/data_time": Metric("s", "of each rank: time spent waiting for data", "alike and small"),
        },
    ),
    "rank_memory": Watched(
        100,
        {
            "rank/memory_rss": Metric("bytes", "of each rank: resident memory of its process", "alike and steady"),
            "rank/memory_allocated": Metric("bytes", "of each rank: GPU memory that tensors occupy", "alike, steady"),
        },
    ),
    "checksum": Watched(
        500,
        {
            "rank/param_checksum": Metric(
                "1", "of each rank: a number that parameters alike have alike; not of sharded models", "equal"
            ),
        },
    ),
    "overhead": Watched(
        100,
        {"pulseboard/overhead": Metric("1", "share of the time that all of this took, measured", "the budget or less")},
    ),
}
