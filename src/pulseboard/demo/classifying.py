"""Learning to tell spirals apart: the training loop of the three trainings that differ in nothing but their plan."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pulseboard.demo.network import Adam, Array, Momentum, Network, Optimizer, norm
from pulseboard.demo.pace import Pace
from pulseboard.demo.spirals import ARMS, picture, spirals
from pulseboard.record.run import Run, init

_EVALUATE_EVERY = 20
_MEDIA_EVERY = 100
_FREQUENCIES = 8


@dataclass(frozen=True)
class Plan:
    """Everything that one training can have other than another; it is logged as the run's config."""

    max_steps: int = 1200
    learning_rate: float = 0.01
    warmup_steps: int = 60
    optimizer: str = "sgd"  # or adam
    batch_size: int = 128
    train_points: int = 4000
    val_points: int = 2000
    noise: float = 0.06
    wrong_labels: float = 0.0
    width: int = 48
    num_classes: int = ARMS


def train(name: str, plan: Plan, *, directory: Path, secs: float, seed: int, notes: str) -> None:
    """One whole training: below `directory`, in about `secs`."""
    with init(
        dir=directory,
        run_id=name,
        config={**dataclasses.asdict(plan), "seed": seed},
        tags=["demo"],
        notes=notes,
        telemetry_secs=2,
    ) as run:
        Classifier(plan, seed=seed).train(run, Pace(secs=secs, steps=plan.max_steps))


class Classifier:
    """The model of a plan, its data, and the loop."""

    def __init__(self, plan: Plan, *, seed: int) -> None:
        self.plan = plan
        self._rng = np.random.default_rng(seed)
        self.train_points = spirals(plan.train_points, self._rng, noise=plan.noise, wrong_labels=plan.wrong_labels)
        self.val_points = spirals(plan.val_points, self._rng, noise=plan.noise, wrong_labels=plan.wrong_labels)
        # A plane is easier to wind up in waves than in its own two numbers.
        self._waves = self._rng.normal(0, 2.0, (2, _FREQUENCIES))
        self.network = Network([2 + 2 * _FREQUENCIES, plan.width, plan.width, ARMS], self._rng)
        made: dict[str, type[Adam] | type[Momentum]] = {"adam": Adam, "sgd": Momentum}
        self.optimizer: Optimizer = made[plan.optimizer](self.network.parameters)

    def train(self, run: Run, pace: Pace) -> None:
        """All steps of the plan, each logged."""
        run.text("about", run.notes, step=0)
        for step in range(self.plan.max_steps):
            run.log(self.step(step), step=step)
            if step % _MEDIA_EVERY == 0 or step == self.plan.max_steps - 1:
                self._log_media(run, step)
            pace.step()

    def chances(self, places: Array) -> Array:
        """The probability of each arm at each place."""
        return _softmax(self.network.forward(self._features(places))[-1])

    def rate(self, step: int) -> float:
        """Warm-up, then down to a tenth on half a cosine."""
        done = step / self.plan.max_steps
        decay = 0.1 + 0.9 * 0.5 * (1 + np.cos(np.pi * done))
        return float(self.plan.learning_rate * min(1.0, (step + 1) / self.plan.warmup_steps) * decay)

    def _features(self, places: Array) -> Array:
        waves = places @ self._waves
        return np.concatenate([places, np.sin(waves), np.cos(waves)], axis=1)

    def step(self, step: int) -> dict[str, float]:
        """Take one step, and evaluate where it is time: what to log of it."""
        logged = self._learned(step)
        if step % _EVALUATE_EVERY == 0 or step == self.plan.max_steps - 1:
            logged |= self._evaluated()
        return logged

    def _learned(self, step: int) -> dict[str, float]:
        batch = self._rng.integers(0, len(self.train_points.arms), self.plan.batch_size)
        places, arms = self.train_points.places[batch], self.train_points.arms[batch]
        layers = self.network.forward(self._features(places))
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

    def _evaluated(self) -> dict[str, float]:
        scores = self.network.forward(self._features(self.val_points.places))[-1]
        loss, accuracy, _ = _cross_entropy(scores, self.val_points.arms)
        return {"val/loss": loss, "val/accuracy": accuracy}

    def _log_media(self, run: Run, step: int) -> None:
        run.image("decision/map", picture(self.chances, self.train_points), step=step)
        for i, weight in enumerate(self.network.parameters[::2]):
            run.histogram(f"weights/layer{i}", weight, step=step)


def _softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances: Array = powers / powers.sum(axis=1, keepdims=True)
    return chances


def _cross_entropy(scores: Array, arms: NDArray[np.int64]) -> tuple[float, float, Array]:
    """The loss, the accuracy, and the gradient of the loss by the scores."""
    # Without softmax's own limits inside the logarithm: a training that diverges shall say how far.
    shifted = scores - scores.max(axis=1, keepdims=True)
    rows = np.arange(len(arms))
    loss = float((np.log(np.exp(shifted).sum(axis=1)) - shifted[rows, arms]).mean())
    delta = _softmax(scores)
    accuracy = float((delta.argmax(axis=1) == arms).mean())
    delta[rows, arms] -= 1
    return loss, accuracy, delta / len(arms)
