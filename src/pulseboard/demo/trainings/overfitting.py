"""The classifier on 100 points, some of them mislabeled: it memorizes them, and the validation loss rises."""

from __future__ import annotations

from pathlib import Path

from pulseboard.demo import classifier

CONFIG = classifier.ClassifierConfig(train_points=100, wrong_labels=0.25, optimizer="adam", learning_rate=0.001)


def train(*, directory: Path, secs: float, seed: int) -> None:
    """Train once, logging below `directory`, in about `secs`."""
    classifier.train("overfitting", CONFIG, directory=directory, secs=secs, seed=seed, notes=str(__doc__))
