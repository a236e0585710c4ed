"""Spirals: points on three interleaved arms, and an image of a model's decision regions."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pulseboard.demo.network import Array

ARMS = 3
_TURNS = 1.6
_IMAGE_SIZE_PX = 96
_COLORS = np.array([[66, 133, 244], [234, 100, 40], [52, 168, 83]], dtype=np.float64)


class LabeledPoints(NamedTuple):
    """Positions in the plane, and the arm each one is labeled with."""

    positions: Array
    arms: NDArray[np.int64]


def spirals(count: int, rng: np.random.Generator, *, noise: float, wrong_labels: float = 0.0) -> LabeledPoints:
    """Random points along the arms, blurred by `noise`; a share of `wrong_labels` gets the label of a random arm."""
    along = np.sqrt(rng.uniform(0.02, 1, count))
    arms = rng.integers(0, ARMS, count)
    angle = 2 * np.pi * (_TURNS * along + arms / ARMS)
    positions = np.stack([along * np.cos(angle), along * np.sin(angle)], axis=1) + rng.normal(0, noise, (count, 2))
    wrong = rng.random(count) < wrong_labels
    return LabeledPoints(positions, np.where(wrong, rng.integers(0, ARMS, count), arms))


def decision_image(probabilities_at: Callable[[Array], Array], points: LabeledPoints) -> NDArray[np.uint8]:
    """The model's prediction at each pixel in the arms' colors, with some points on top: height, width, RGB."""
    across = np.linspace(-1.25, 1.25, _IMAGE_SIZE_PX)
    grid = np.stack(np.meshgrid(across, -across), axis=-1).reshape(-1, 2)
    probabilities = np.nan_to_num(probabilities_at(grid), nan=1 / ARMS)
    pixels = (255 - (255 - probabilities @ _COLORS) * 0.45).reshape(_IMAGE_SIZE_PX, _IMAGE_SIZE_PX, 3)
    pixel = ((points.positions[:300] * [1, -1] / 2.5 + 0.5) * (_IMAGE_SIZE_PX - 1)).round().astype(int)
    pixel = pixel.clip(0, _IMAGE_SIZE_PX - 1)
    pixels[pixel[:, 1], pixel[:, 0]] = _COLORS[points.arms[:300]] * 0.8
    return pixels.clip(0, 255).astype(np.uint8)
