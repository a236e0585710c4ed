"""The spiral classifier: the training loop of three trainings that differ only in their configuration."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pulseboard.demo.network import Adam, Array, Momentum, Network, Optimizer, norm
from pulseboard.demo.pace import Pace
from pulseboard.demo.spirals import ARMS, decision_image, spirals
from pulseboard.record.active_run import ActiveRun
from pulseboard.record.run import init

_EVALUATE_EVERY = 20
_MEDIA_EVERY = 100
_FREQUENCIES = 8


@dataclass(frozen=True)
class ClassifierConfig:
    """Everything in which the trainings differ; logged as the run's config."""

    max_steps: int = 1200
    learning_rate: float = 0.01
    warmup_steps: int = 60
    optimizer: str = "sgd"  # or "adam"
    batch_size: int = 128
    train_points: int = 4000
    val_points: int = 2000
    noise: float = 0.06
    wrong_labels: float = 0.0
    width: int = 48
    num_classes: int = ARMS


def train(name: str, config: ClassifierConfig, *, directory: Path, secs: float, seed: int, notes: str) -> None:
    """Train once, logging below `directory`, in about `secs`."""
    with init(
        dir=directory,
        run_id=name,
        config={**dataclasses.asdict(config), "seed": seed},
        tags=["demo"],
        notes=notes,
        telemetry_secs=2,
    ) as run:
        Classifier(config, seed=seed).train(run, Pace(secs=secs, steps=config.max_steps))


class Classifier:
    """The model, its data, and the training loop."""

    def __init__(self, config: ClassifierConfig, *, seed: int) -> None:
        self.config = config
        self._rng = np.random.default_rng(seed)
        self.train_points = spirals(
            config.train_points, self._rng, noise=config.noise, wrong_labels=config.wrong_labels
        )
        self.val_points = spirals(config.val_points, self._rng, noise=config.noise, wrong_labels=config.wrong_labels)
        # Fourier features: spirals are hard to learn from two coordinates alone.
        self._frequencies = self._rng.normal(0, 2.0, (2, _FREQUENCIES))
        self.network = Network([2 + 2 * _FREQUENCIES, config.width, config.width, ARMS], self._rng)
        optimizers: dict[str, type[Adam] | type[Momentum]] = {"adam": Adam, "sgd": Momentum}
        self.optimizer: Optimizer = optimizers[config.optimizer](self.network.parameters)

    def train(self, run: ActiveRun, pace: Pace) -> None:
        """Take all steps and log each."""
        run.text("about", run.notes, step=0)
        for step in range(self.config.max_steps):
            run.log(self.step(step), step=step)
            if step % _MEDIA_EVERY == 0 or step == self.config.max_steps - 1:
                self._log_media(run, step)
            pace.step()

    def probabilities(self, positions: Array) -> Array:
        """The probability of each arm at each position."""
        return _softmax(self.network.forward(self._features(positions))[-1])

    def rate(self, step: int) -> float:
        """The learning rate: linear warm-up, then cosine decay to a tenth."""
        done = step / self.config.max_steps
        decay = 0.1 + 0.9 * 0.5 * (1 + np.cos(np.pi * done))
        return float(self.config.learning_rate * min(1.0, (step + 1) / self.config.warmup_steps) * decay)

    def _features(self, positions: Array) -> Array:
        phases = positions @ self._frequencies
        return np.concatenate([positions, np.sin(phases), np.cos(phases)], axis=1)

    def step(self, step: int) -> dict[str, float]:
        """Take one step, evaluate if due, and return the values to log."""
        logged = self._train_step(step)
        if step % _EVALUATE_EVERY == 0 or step == self.config.max_steps - 1:
            logged |= self._evaluate()
        return logged

    def _train_step(self, step: int) -> dict[str, float]:
        batch = self._rng.integers(0, len(self.train_points.arms), self.config.batch_size)
        positions, arms = self.train_points.positions[batch], self.train_points.arms[batch]
        layers = self.network.forward(self._features(positions))
        loss, accuracy, delta = _cross_entropy(layers[-1], arms)
        gradients, _ = self.network.backward(layers, delta)
        before = norm(self.network.parameters)
        updates = self.optimizer.step(gradients, rate=self.rate(step))
        return {
            "train/loss": loss,
            "train/accuracy": accuracy,
            "train/lr": self.rate(step),
            "train/grad_norm": norm(gradients),
            "train/update_ratio": norm(updates) / before,
            "train/weight_norm": before,
        }

    def _evaluate(self) -> dict[str, float]:
        scores = self.network.forward(self._features(self.val_points.positions))[-1]
        loss, accuracy, _ = _cross_entropy(scores, self.val_points.arms)
        return {"val/loss": loss, "val/accuracy": accuracy}

    def _log_media(self, run: ActiveRun, step: int) -> None:
        run.image("decision/map", decision_image(self.probabilities, self.train_points), step=step)
        for i, weight in enumerate(self.network.parameters[::2]):
            run.histogram(f"weights/layer{i}", weight, step=step)


def _softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    probabilities: Array = powers / powers.sum(axis=1, keepdims=True)
    return probabilities


def _cross_entropy(scores: Array, arms: NDArray[np.int64]) -> tuple[float, float, Array]:
    """The loss, the accuracy, and the gradient of the loss with respect to the scores."""
    # Log-sum-exp, without taking the logarithm of a softmax that may be 0: a diverging loss must stay visible.
    shifted = scores - scores.max(axis=1, keepdims=True)
    rows = np.arange(len(arms))
    loss = float((np.log(np.exp(shifted).sum(axis=1)) - shifted[rows, arms]).mean())
    delta = _softmax(scores)
    accuracy = float((delta.argmax(axis=1) == arms).mean())
    delta[rows, arms] -= 1
    return loss, accuracy, delta / len(arms)
