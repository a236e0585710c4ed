"""The trainer_state.json of transformers' Trainer."""

import json
from pathlib import Path

import numpy as np

from zoo.small.record import Record
from zoo.small.style import Style, interval_of, renamed

NAMES = {"loss": "loss", "lr": "learning_rate", "val_loss": "eval_loss", "val_acc": "eval_accuracy"}


def write(record: Record, directory: Path, rng: np.random.Generator) -> None:
    """Write the state as the last checkpoint has it."""
    interval = interval_of(record, rng)
    rows = [("train", row) for row in record.every(interval, mean=True)] + [("val", row) for row in record.val]
    history = []
    for part, row in sorted(rows, key=lambda one: (one[1].step, one[0])):
        # The Trainer logs the loss of training, its gradient norm and its rate; everything else is about evaluation.
        values = {k: v for k, v in row.values.items() if part == "val" or k in ("loss", "lr", "grad_norm")}
        named = renamed(values, NAMES, prefix="eval_" if part == "val" else "")
        if part == "val":
            named["eval_runtime"] = round(1.2 + 0.05 * float(rng.random()), 4)
        history.append({"epoch": row.epoch, "step": row.step, **{k: round(v, 6) for k, v in named.items()}})
    state = {
        "best_metric": None,
        "epoch": record.epochs,
        "eval_steps": record.steps // record.epochs,
        "global_step": record.steps,
        "is_local_process_zero": True,
        "is_world_process_zero": True,
        "log_history": history,
        "logging_steps": interval,
        "max_steps": record.steps,
        "num_train_epochs": record.epochs,
    }
    checkpoint = directory / f"checkpoint-{record.steps}"
    checkpoint.mkdir()
    (checkpoint / "trainer_state.json").write_text(json.dumps(state, indent=2) + "\n", encoding="utf-8")


STYLE = Style(
    "hf_trainer",
    write,
    hides=frozenset({"acc", "mae", "step_secs", "memory_mb"}),
    only=frozenset({"mlp_classifier", "regression", "char_lm", "recurrent", "contrastive", "fine_tuning"}),
)
