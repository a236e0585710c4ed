"""The CSVLogger of Keras: a row per epoch."""

import csv
from pathlib import Path

import numpy as np

from zoo.small.record import Record
from zoo.small.style import Style, renamed

NAMES = {
    "acc": "accuracy",
    "val_acc": "val_accuracy",
    "lr": "learning_rate",
    "iou": "mean_io_u",
    "val_iou": "val_mean_io_u",
}


def write(record: Record, directory: Path, rng: np.random.Generator) -> None:
    """Write training.csv."""
    rows = [
        {"epoch": row.epoch - 1, **dict(sorted(_named({**row.values, **(val.values if val else {})}).items()))}
        for row, val in record.by_epoch()
    ]
    with open(directory / "training.csv", "w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


def _named(values: dict[str, float]) -> dict[str, float]:
    val = {k: v for k, v in values.items() if k.startswith("val_")}
    train = {k: v for k, v in values.items() if not k.startswith("val_")}
    return {**renamed(train, NAMES), **renamed(val, NAMES, prefix="val_")}


STYLE = Style(
    "keras_csv",
    write,
    hides=frozenset({"grad_norm", "step_secs", "memory_mb"}),
    only=frozenset(
        {"mlp_classifier", "cnn_classifier", "regression", "recurrent", "segmentation", "fine_tuning", "autoencoder"}
    ),
    by_epoch=True,
)
