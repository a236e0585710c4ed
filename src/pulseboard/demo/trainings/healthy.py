"""A classifier of spirals that learns as it should: both losses fall, and stay together."""

from __future__ import annotations

from pathlib import Path

from pulseboard.demo import classifying

PLAN = classifying.Plan()


def train(*, directory: Path, secs: float, seed: int) -> None:
    """Train once, logging below `directory`, in about `secs`."""
    classifying.train("healthy", PLAN, directory=directory, secs=secs, seed=seed, notes=str(__doc__))
