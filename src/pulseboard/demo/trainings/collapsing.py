"""A JEPA without stop-gradient: the target moves toward the prediction, and soon all features are the same."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pulseboard.demo.network import Adam, Array, Network, norm
from pulseboard.demo.pace import Pace
from pulseboard.instruments import collapse, prediction
from pulseboard.record.active_run import ActiveRun
from pulseboard.record.run import init

_HALF_LENGTH = 48  # of a signal
_MEASURE_EVERY = 10
_MEDIA_EVERY = 100


@dataclass(frozen=True)
class JepaConfig:
    """How the model is trained; logged as the run's config."""

    max_steps: int = 1200
    learning_rate: float = 0.005
    warmup_steps: int = 60
    optimizer: str = "adam"
    batch_size: int = 96
    embedding_dim: int = 16
    stop_gradient: bool = False


CONFIG = JepaConfig()


def train(*, directory: Path, secs: float, seed: int) -> None:
    """Train once, logging below `directory`, in about `secs`."""
    notes, config = str(__doc__), {**dataclasses.asdict(CONFIG), "seed": seed}
    with init(dir=directory, run_id="collapsing", config=config, tags=["demo"], notes=notes, telemetry_secs=2) as run:
        Jepa(CONFIG, seed=seed).train(run, Pace(secs=secs, steps=CONFIG.max_steps))


class Jepa:
    """Predicts the features of the second half of a signal from those of the first."""

    def __init__(self, config: JepaConfig, *, seed: int) -> None:
        self.config = config
        self._rng = np.random.default_rng(seed)
        self.encoder = Network([_HALF_LENGTH, 64, config.embedding_dim], self._rng, last_scale=1.2)
        self.predictor = Network([config.embedding_dim, 32, config.embedding_dim], self._rng)
        self._parameters = [*self.encoder.parameters, *self.predictor.parameters]
        self._optimizer = Adam(self._parameters)

    def train(self, run: ActiveRun, pace: Pace) -> None:
        """Take all steps and log each."""
        run.text("about", run.notes, step=0)
        for step in range(self.config.max_steps):
            logged, target = self.step(step)
            run.log(logged, step=step)
            if step % _MEDIA_EVERY == 0 or step == self.config.max_steps - 1:
                run.histogram("features", target, step=step)
                run.image("features/batch", _feature_image(target), step=step)
            pace.step()

    def step(self, step: int) -> tuple[dict[str, Any], Array]:
        """Take one step; return the values to log and the target features."""
        first, second = self._signals(self.config.batch_size)
        context_layers, target_layers = self.encoder.forward(first), self.encoder.forward(second)
        predicted, target = self.predictor.forward(context_layers[-1]), target_layers[-1]
        error = predicted[-1] - target
        delta = 2 * error / error.size
        predictor, context_delta = self.predictor.backward(predicted, delta)
        through_context, _ = self.encoder.backward(context_layers, context_delta)
        # This is the fault: the target should be a constant, but the gradient flows into it too.
        target_delta = np.zeros_like(delta) if self.config.stop_gradient else -delta
        through_target, _ = self.encoder.backward(target_layers, target_delta)
        encoder = [a + b for a, b in zip(through_context, through_target, strict=True)]
        rate = _rate(step, self.config)
        before = norm(self._parameters)
        updates = self._optimizer.step([*encoder, *predictor], rate=rate)
        logged: dict[str, Any] = {
            "train/loss": float((error * error).mean()),
            "train/lr": rate,
            "train/grad_norm": norm([*encoder, *predictor]),
            "train/update_ratio": norm(updates) / before,
        }
        if step % _MEASURE_EVERY == 0 or step == self.config.max_steps - 1:
            logged |= collapse(target, level=0) | prediction(predicted[-1], target, level=0)
        return logged, target

    def _signals(self, count: int) -> tuple[Array, Array]:
        """Both halves of `count` signals, each the sum of three random waves and some noise."""
        along = np.linspace(0, 1, 2 * _HALF_LENGTH)
        frequency, phase, height = (
            self._rng.uniform(low, high, (count, 3, 1)) for low, high in ((1, 8), (0, 2 * np.pi), (0.3, 1))
        )
        signals = (height * np.sin(2 * np.pi * frequency * along + phase)).sum(axis=1)
        signals += self._rng.normal(0, 0.1, signals.shape)
        return signals[:, :_HALF_LENGTH], signals[:, _HALF_LENGTH:]


def _rate(step: int, config: JepaConfig) -> float:
    """The learning rate: linear warm-up, then cosine decay to a tenth."""
    decay = 0.1 + 0.9 * 0.5 * (1 + np.cos(np.pi * step / config.max_steps))
    return float(config.learning_rate * min(1.0, (step + 1) / config.warmup_steps) * decay)


def _feature_image(features: Array) -> Array:
    """One row per signal and one column per feature, gray by value. After the collapse all rows look the same."""
    return np.repeat(np.repeat((features[:32] / 4 + 0.5).clip(0, 1), 4, axis=0), 8, axis=1)
