"""Small trainings for the screenshots: real models that learn, and some that do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

CLASSIFIER = ["classifier.py", "--steps", "400", "--train-images", "3000"]
TRAININGS: dict[str, list[str]] = {
    **{
        f"lr{rate}-seed{seed}": [*CLASSIFIER, "--learning-rate", rate, "--seed", str(seed)]
        for rate in ("3e-3", "3e-4")
        for seed in range(3)
    },
    "few-images": ["classifier.py", "--steps", "400", "--train-images", "120", "--weight-decay", "0"],
    "sgd-lr8": [*CLASSIFIER, "--optimizer", "sgd", "--learning-rate", "8", "--clip-norm", "0"],
    "diffusion": ["diffusion.py", "--steps", "300", "--train-images", "2000", "--sample-every", "60"],
    "gpt": [
        "gpt.py",
        "--max_steps",
        "300",
        "--eval_freq",
        "60",
        "--histogram-interval",
        "50",
        "--checkpoint_freq",
        "0",
        "--quiet",
    ],
}
"""What each training is called, and the trainer with its arguments."""


def train_all(directory: Path) -> Path:
    """Run all trainings, one after the other. A few minutes on one core."""
    for name, (trainer, *arguments) in TRAININGS.items():
        print(f"training {name} …", flush=True)
        where = "--tensorboard_dir" if trainer == "gpt.py" else "--dir"
        command = [sys.executable, str(ROOT / "trainers" / trainer), where, str(directory), "--run-tag", name]
        subprocess.run([*command, *arguments], check=True, stdout=subprocess.DEVNULL, cwd=directory.parent)
    return directory
