"""Flags of trainers/hjepa.py from a YAML file with the blocks `logging` and `masking`."""

from pathlib import Path
from typing import Any

import yaml

# (block, key) -> flag
_FLAGS = {
    ("logging", "log_dir"): "dir",
    ("logging", "log_frequency"): "log_every",
    ("logging", "experiment_name"): "run_name",
    ("masking", "num_masks"): "num_masks",
    ("masking", "mask_scale"): "mask_scale",
    ("masking", "aspect_ratio"): "aspect_ratio",
}


def flags_in(file: str) -> dict[str, Any]:
    """The flags that a file sets. Other keys are left to Pulseboard, which reports unknown ones."""
    content = yaml.safe_load(Path(file).read_text(encoding="utf-8")) or {}
    return {flag: content[block][key] for (block, key), flag in _FLAGS.items() if key in (content.get(block) or {})}
