"""What gpt.py logs: its tags in the two usual styles, and what `pb.watch` measures often."""

UPPER = {
    "loss": "Loss/train",
    "val_loss": "Loss/validation",
    "lr": "Learning_Rate/lr",
    "norm": "Gradient/norm",
    "step_time": "Performance/step_time_ms",
    "tokens_per_sec": "Performance/tokens_per_sec",
    "epoch": "Training/epoch",
    "batch": "Data/batch_checksum",
    "hellaswag": "Evaluation/hellaswag_accuracy",
    "samples": "Generated_Samples/text",
}
LOWER = {
    "loss": "train/loss",
    "val_loss": "eval/val_loss",
    "lr": "train/learning_rate",
    "norm": "train/grad_norm",
    "step_time": "performance/step_time_ms",
    "tokens_per_sec": "performance/tokens_per_sec",
    "epoch": "train/epoch",
    "batch": "data/batch_checksum",
    "hellaswag": "eval/hellaswag_accuracy",
    "samples": "samples/text",
}

# Measured every `--watch_every` steps. pb.watch measures the gradient norm at every step.
WATCHED_OFTEN = ("gradient_flow", "parameter_norm", "update", "sparsity", "performance", "learning_rate", "checksum")
