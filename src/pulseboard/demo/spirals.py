"""Spirals: points on three arms that wind around each other, and the picture of who owns which place."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pulseboard.demo.network import Array

ARMS = 3
_TURNS = 1.6
_PICTURE_SIZE = 96
_COLOURS = np.array([[66, 133, 244], [234, 100, 40], [52, 168, 83]], dtype=np.float64)


class Points(NamedTuple):
    """Places in the plane, and the arm that each belongs to."""

    places: Array
    arms: NDArray[np.int64]


def spirals(count: int, rng: np.random.Generator, *, noise: float, wrong_labels: float = 0.0) -> Points:
    """Points at random along the arms, blurred by `noise`; a share of `wrong_labels` has the name of any arm."""
    along = np.sqrt(rng.uniform(0.02, 1, count))
    arms = rng.integers(0, ARMS, count)
    angle = 2 * np.pi * (_TURNS * along + arms / ARMS)
    places = np.stack([along * np.cos(angle), along * np.sin(angle)], axis=1) + rng.normal(0, noise, (count, 2))
    wrong = rng.random(count) < wrong_labels
    return Points(places, np.where(wrong, rng.integers(0, ARMS, count), arms))


def picture(chances_at: Callable[[Array], Array], points: Points) -> NDArray[np.uint8]:
    """Whose place each is by the model's word, in the arms' colours, with some points on top. Height, width, RGB."""
    across = np.linspace(-1.25, 1.25, _PICTURE_SIZE)
    grid = np.stack(np.meshgrid(across, -across), axis=-1).reshape(-1, 2)
    chances = np.nan_to_num(chances_at(grid), nan=1 / ARMS)
    pixels = (255 - (255 - chances @ _COLOURS) * 0.45).reshape(_PICTURE_SIZE, _PICTURE_SIZE, 3)
    at = ((points.places[:300] * [1, -1] / 2.5 + 0.5) * (_PICTURE_SIZE - 1)).round().astype(int)
    at = at.clip(0, _PICTURE_SIZE - 1)
    pixels[at[:, 1], at[:, 0]] = _COLOURS[points.arms[:300]] * 0.8
    return pixels.clip(0, 255).astype(np.uint8)
