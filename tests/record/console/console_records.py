"""Records of a training, and their lines in golden files."""

from __future__ import annotations

import os
from pathlib import Path

from pulseboard.record.console.console import lines as lines

GOLDEN = Path(__file__).parents[2] / "golden"

STEP = {
    "log": "step", "time": "2026-01-15T10:30:00.123456", "step": 100, "epoch": 1.25, "step_tokens": 19547,
    "duration_ms": 156, "norm": 0.1234, "loss": 2.3456, "lr": 0.0002,
}  # fmt: skip

MOE = {**STEP, "moe_aux_loss": 0.0234, "moe_z_loss": 0.0012, "moe_load_imbalance": 1.45}

EVAL = {"log": "eval", "step": 500, "epoch": 1.5, "eval_tokens": 33977, "duration_ms": 234, "loss": 2.1234}

SOL = {
    "log": "sol", "step": 0, "blocks": 123_400_000_000, "lm_head": 45_600_000_000, "attention": 78_900_000_000,
    "tps": 156000, "tf32_peak": 494.7, "bf16_peak": 989.5, "fp16_peak": 989.5, "fp8_peak": 1979.0,
}  # fmt: skip

TWO_HOURS = 2 * 3600 + 15 * 60 + 59


def compare(text: str, name: str) -> None:
    """Compare with a golden file, like the golden fixture of the CLI tests: `make golden` rewrites the files."""
    path = GOLDEN / name
    if os.environ.get("PULSEBOARD_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "if the change is meant, run `make golden` and read the diff"
