"""A spiral classifier that learns as it should: both losses fall and stay close together."""

from __future__ import annotations

from pathlib import Path

from pulseboard.demo import classifier

CONFIG = classifier.ClassifierConfig()


def train(*, directory: Path, secs: float, seed: int) -> None:
    """Train once, logging below `directory`, in about `secs`."""
    classifier.train("healthy", CONFIG, directory=directory, secs=secs, seed=seed, notes=str(__doc__))
