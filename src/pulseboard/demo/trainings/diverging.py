"""The healthy classifier with a learning rate that rises far too high: the loss falls, turns up and becomes NaN."""

from __future__ import annotations

from pathlib import Path

from pulseboard.demo import classifier

# A long warm-up: training goes well at first, and the signs of trouble are visible before it breaks.
CONFIG = classifier.ClassifierConfig(learning_rate=2.5, warmup_steps=500)


def train(*, directory: Path, secs: float, seed: int) -> None:
    """Train once, logging below `directory`, in about `secs`."""
    classifier.train("diverging", CONFIG, directory=directory, secs=secs, seed=seed, notes=str(__doc__))
