"""A results.csv and args.yaml in the style of YOLO: a row per epoch, components of the loss, no total."""

import csv
from pathlib import Path

import numpy as np
import yaml

from zoo.small.record import Record
from zoo.small.style import Style

METRICS = {"map": "metrics/mAP50(B)", "iou": "metrics/mIoU", "acc": "metrics/accuracy_top1"}


def write(record: Record, directory: Path, rng: np.random.Generator) -> None:
    """Write both files."""
    rows = []
    for row, val in record.by_epoch():
        values = {**row.values, **(val.values if val else {})}
        parts = [k for k in row.values if k in ("box", "cls", "obj", "bce", "dice")] or ["loss"]
        named = {"epoch": row.epoch, "time": round(row.time, 2)}
        named |= {f"train/{k}_loss".replace("loss_loss", "loss"): round(values[k], 5) for k in parts}
        named |= {METRICS[k]: round(values[f"val_{k}"], 5) for k in METRICS if f"val_{k}" in values}
        named |= {f"val/{k}_loss".replace("loss_loss", "loss"): round(values.get(f"val_{k}", np.nan), 5) for k in parts}
        named |= {f"lr/pg{i}": values["lr"] for i in range(3) if "lr" in values}
        rows.append(named)
    with open(directory / "results.csv", "w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    config = {
        "epochs": record.epochs,
        "lr0": record.config.get("learning_rate"),
        "batch": record.config.get("batch_size"),
    }
    (directory / "args.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")


STYLE = Style(
    "yolo_csv",
    write,
    hides=frozenset({"acc", "map", "iou", "grad_norm", "step_secs", "memory_mb"}),
    only=frozenset({"detection", "segmentation", "cnn_classifier"}),
    by_epoch=True,
)
