"""The metrics.csv and hparams.yaml of Lightning's CSVLogger: rows of training and of validation with empty cells."""

import csv
from pathlib import Path

import numpy as np
import yaml

from zoo.small.record import Record
from zoo.small.style import Style, interval_of, renamed

NAMES = {"lr": "lr-Adam", "grad_norm": "grad_2.0_norm_total", "step_secs": "train_step_time", "memory_mb": "memory_mb"}


def write(record: Record, directory: Path, rng: np.random.Generator) -> None:
    """Write lightning_logs/version_0."""
    folder = directory / "lightning_logs" / "version_0"
    folder.mkdir(parents=True)
    suffix = "_step" if rng.random() < 0.3 else ""
    train = record.every(interval_of(record, rng), mean=False)
    rows = [
        {"epoch": row.epoch - 1, "step": row.step - 1, **_named(row.values, suffix)}
        for row in sorted([*train, *record.val], key=lambda row: row.step)
    ]
    fields = ["epoch", *sorted({key for row in rows for key in row} - {"epoch", "step"}), "step"]
    with open(folder / "metrics.csv", "w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, fields, restval="")
        table.writeheader()
        table.writerows(rows)
    if record.config:
        (folder / "hparams.yaml").write_text(yaml.safe_dump(record.config), encoding="utf-8")


def _named(values: dict[str, float], suffix: str) -> dict[str, float]:
    train = {f"train_{k}{suffix}" if k not in NAMES else k: v for k, v in values.items() if not k.startswith("val_")}
    return {
        **{NAMES.get(k, k): v for k, v in train.items()},
        **renamed({k: v for k, v in values.items() if k.startswith("val_")}, {}, prefix="val_"),
    }


STYLE = Style("lightning_csv", write)
