"""A JEPA without stop-gradient: the target is drawn towards the prediction, and soon all features are the same."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pulseboard.demo.network import Adam, Array, Network, norm
from pulseboard.demo.pace import Pace
from pulseboard.instruments.collapse import collapse
from pulseboard.instruments.prediction import prediction
from pulseboard.record.run import Run, init

_LENGTH = 48  # of each half of a signal
_MEASURE_EVERY = 10
_MEDIA_EVERY = 100


@dataclass(frozen=True)
class Plan:
    """How it is trained; it is logged as the run's config."""

    max_steps: int = 1200
    learning_rate: float = 0.005
    warmup_steps: int = 60
    optimizer: str = "adam"
    batch_size: int = 96
    embedding_dim: int = 16
    stop_gradient: bool = False


PLAN = Plan()


def train(*, directory: Path, secs: float, seed: int) -> None:
    """Train once, logging below `directory`, in about `secs`."""
    notes, config = str(__doc__), {**dataclasses.asdict(PLAN), "seed": seed}
    with init(dir=directory, run_id="collapsing", config=config, tags=["demo"], notes=notes, telemetry_secs=2) as run:
        Jepa(PLAN, seed=seed).train(run, Pace(secs=secs, steps=PLAN.max_steps))


class Jepa:
    """Predicts the features of a signal's second half from those of its first."""

    def __init__(self, plan: Plan, *, seed: int) -> None:
        self.plan = plan
        self._rng = np.random.default_rng(seed)
        self.encoder = Network([_LENGTH, 64, plan.embedding_dim], self._rng, last_scale=1.2)
        self.predictor = Network([plan.embedding_dim, 32, plan.embedding_dim], self._rng)
        self._parameters = [*self.encoder.parameters, *self.predictor.parameters]
        self._optimizer = Adam(self._parameters)

    def train(self, run: Run, pace: Pace) -> None:
        """All steps of the plan, each logged."""
        run.text("about", run.notes, step=0)
        for step in range(self.plan.max_steps):
            logged, target = self.step(step)
            run.log(logged, step=step)
            if step % _MEDIA_EVERY == 0 or step == self.plan.max_steps - 1:
                run.histogram("features", target, step=step)
                run.image("features/batch", _picture(target), step=step)
            pace.step()

    def step(self, step: int) -> tuple[dict[str, Any], Array]:
        """Take one step: what to log of it, and the features it saw."""
        first, second = self._signals(self.plan.batch_size)
        seen, hidden = self.encoder.forward(first), self.encoder.forward(second)
        predicted, target = self.predictor.forward(seen[-1]), hidden[-1]
        error = predicted[-1] - target
        delta = 2 * error / error.size
        predictor, towards_seen = self.predictor.backward(predicted, delta)
        by_seen, _ = self.encoder.backward(seen, towards_seen)
        # Here is the fault: the target should be taken as it is, but the loss may move it too.
        towards_hidden = np.zeros_like(delta) if self.plan.stop_gradient else -delta
        by_hidden, _ = self.encoder.backward(hidden, towards_hidden)
        encoder = [one + other for one, other in zip(by_seen, by_hidden, strict=True)]
        rate = _rate(step, self.plan)
        before = norm(self._parameters)
        updates = self._optimizer.step([*encoder, *predictor], rate=rate)
        logged: dict[str, Any] = {
            "train/loss": float((error * error).mean()),
            "train/lr": rate,
            "train/grad_norm": norm([*encoder, *predictor]),
            "train/update_ratio": norm(updates) / before,
        }
        if step % _MEASURE_EVERY == 0 or step == self.plan.max_steps - 1:
            logged |= collapse(target, level=0) | prediction(predicted[-1], target, level=0)
        return logged, target

    def _signals(self, count: int) -> tuple[Array, Array]:
        """Both halves of `count` signals: each the sum of three waves of its own, and some noise."""
        along = np.linspace(0, 1, 2 * _LENGTH)
        frequency, phase, height = (
            self._rng.uniform(low, high, (count, 3, 1)) for low, high in ((1, 8), (0, 2 * np.pi), (0.3, 1))
        )
        signals = (height * np.sin(2 * np.pi * frequency * along + phase)).sum(axis=1)
        signals += self._rng.normal(0, 0.1, signals.shape)
        return signals[:, :_LENGTH], signals[:, _LENGTH:]


def _rate(step: int, plan: Plan) -> float:
    """Warm-up, then down to a tenth on half a cosine."""
    decay = 0.1 + 0.9 * 0.5 * (1 + np.cos(np.pi * step / plan.max_steps))
    return float(plan.learning_rate * min(1.0, (step + 1) / plan.warmup_steps) * decay)


def _picture(features: Array) -> Array:
    """A row a signal, a column a feature, grey by value: rows that are all alike are the collapse."""
    return np.repeat(np.repeat((features[:32] / 4 + 0.5).clip(0, 1), 4, axis=0), 8, axis=1)
