"""Gradient boosting with stumps in NumPy; a step is a round."""

import numpy as np

from zoo.small.kind import Kind
from zoo.small.loop import Clock
from zoo.small.record import Record, Row
from zoo.small.settings import Settings

FEATURES, THRESHOLDS, RATE = 8, 12, 0.1


def run(s: Settings, seed: int) -> Record:
    """Boost."""
    rng = np.random.default_rng(seed)
    n = max(20, int(1200 * s.data_share))
    x, y = _data(n, rng)
    val_x, val_y = _data(400, rng)
    if s.shuffled_labels:
        y = rng.permutation(y)
    if s.eval_labels_shuffled:
        val_y = rng.permutation(val_y)
    if s.eval_shifted:
        val_x = 0.5 - 1.5 * val_x
    rate = RATE * s.lr_factor * (1.0 if s.stepping else 0.0)
    predicted, val_predicted = np.full(n, y.mean()), np.full(400, y.mean())
    clock, record = Clock(s, np.random.default_rng(seed + 3)), Record(s.steps, s.steps, config={"eta": rate})
    for step in range(s.steps):
        feature, threshold, low, high = _stump(x, y - predicted, rng)
        predicted = predicted + rate * np.where(x[:, feature] < threshold, low, high)
        val_predicted = val_predicted + rate * np.where(val_x[:, feature] < threshold, low, high)
        with np.errstate(all="ignore"):
            values = {"loss": float(np.sqrt(np.mean((y - predicted) ** 2))), **clock.tick(step)}
            val = {"val_loss": float(np.sqrt(np.mean((val_y - val_predicted) ** 2)))}
        record.train.append(Row(step + 1, step + 1, clock.now, values))
        record.val.append(Row(step + 1, step + 1, clock.now, val))
    return record


def _data(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.standard_normal((n, FEATURES))
    return x, 2 * np.sin(x[:, 0]) + x[:, 1] + np.abs(x[:, 2]) + 0.7 * rng.standard_normal(n)


def _stump(x: np.ndarray, left: np.ndarray, rng: np.random.Generator) -> tuple[int, float, float, float]:
    """The best of some random splits."""
    best, found = -np.inf, (0, 0.0, 0.0, 0.0)
    for _ in range(THRESHOLDS):
        feature = int(rng.integers(FEATURES))
        threshold = float(x[rng.integers(len(x)), feature])
        below = x[:, feature] < threshold
        if 2 <= below.sum() <= len(x) - 2:
            low, high = float(left[below].mean()), float(left[~below].mean())
            gain = below.mean() * low**2 + (1 - below.mean()) * high**2
            if gain > best or not np.isfinite(gain):
                best, found = gain, (feature, threshold, low, high)
    return found


KIND = Kind(
    "boosting",
    run,
    frozenset("lr-high lr-low not-stepping labels-shuffled tiny-data eval-labels eval-shifted slow-loader".split()),
    steps=(60, 100, 200, 300),
    optimizers=("sgd",),
    fixed={"schedule": "constant", "warmup_share": 0.0, "weight_decay": 0.0},
)
