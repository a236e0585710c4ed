"""The healthy classifier with a learning rate that climbs far too high: the loss falls, turns and is no number."""

from __future__ import annotations

from pathlib import Path

from pulseboard.demo import classifying

# Warm-up takes most of the first half: learning goes well at first, and what breaks it can be seen coming.
PLAN = classifying.Plan(learning_rate=2.5, warmup_steps=500)


def train(*, directory: Path, secs: float, seed: int) -> None:
    """Train once, logging below `directory`, in about `secs`."""
    classifying.train("diverging", PLAN, directory=directory, secs=secs, seed=seed, notes=str(__doc__))
