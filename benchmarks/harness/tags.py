"""The tags that benchmarks log. Standard library only: other tools' environments use them."""

# Names as long as trainings use: 16 characters on average, 14 for the first 10.
TAGS = (
    "train/loss", "train/lr", "train/accuracy", "train/grad_norm", "train/perplexity",
    "train/tokens_per_sec", "train/data_time_s", "eval/loss", "eval/top1_accuracy", "eval/perplexity",
    "model/weight_norm", "model/update_to_weight", "adamw/second_moment", "gpu/0/utilization", "gpu/0/memory_in_use_mb",
    "host/utilization", "host/memory_gb", "loss/load_balancing", "loss/z_penalty", "time/forward_backward_ms",
)  # fmt: skip
