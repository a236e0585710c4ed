"""The classifier on 100 points, some with a wrong name: it learns them by heart, and validation gets worse."""

from __future__ import annotations

from pathlib import Path

from pulseboard.demo import classifying

PLAN = classifying.Plan(train_points=100, wrong_labels=0.25, optimizer="adam", learning_rate=0.001)


def train(*, directory: Path, secs: float, seed: int) -> None:
    """Train once, logging below `directory`, in about `secs`."""
    classifying.train("overfitting", PLAN, directory=directory, secs=secs, seed=seed, notes=str(__doc__))
