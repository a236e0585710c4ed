"""A JSON object per line, as many codebases write metrics.jsonl, and the settings in config.json."""

import json
from pathlib import Path

import numpy as np

from zoo.small.record import Record
from zoo.small.style import Style, interval_of, renamed

NAMES = {"step_secs": "dt", "memory_mb": "mem_mb", "grad_norm": "gnorm"}


def write(record: Record, directory: Path, rng: np.random.Generator) -> None:
    """Write metrics.jsonl and config.json."""
    rows = [*record.every(interval_of(record, rng), mean=bool(rng.random() < 0.5)), *record.val]
    split = "valid_" if rng.random() < 0.5 else "val/"
    with open(directory / "metrics.jsonl", "w", encoding="utf-8") as stream:
        for row in sorted(rows, key=lambda row: row.step):
            val = {k: v for k, v in row.values.items() if k.startswith("val_")}
            train = {k: v for k, v in row.values.items() if not k.startswith("val_")}
            values = {**renamed(train, NAMES), **renamed(val, {}, prefix=split)}
            stream.write(json.dumps({"step": row.step, "epoch": row.epoch, **values}) + "\n")
    if record.config and rng.random() < 0.5:
        (directory / "config.json").write_text(json.dumps(record.config, indent=1) + "\n", encoding="utf-8")


STYLE = Style("json_lines", write)
