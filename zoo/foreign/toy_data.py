"""Toy data for the foreign bases: images, token sequences, text and tables, all generated."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Split:
    """Inputs and labels for training and validation."""

    train_x: NDArray
    train_y: Integers
    val_x: NDArray
    val_y: Integers


def images(
    n_train: int, n_val: int, *, classes: int, size: int, noise: float, seed: int, shuffle_labels: bool = False
) -> Split:
    """Gray images in (n, 1, size, size): each class is a smooth pattern, shifted, scaled and covered by noise."""
    patterns = _smooth_patterns(np.random.default_rng(7), classes, size)  # the task is the same for every seed
    rng = np.random.default_rng(seed)
    x, y = _shifted(rng, patterns, n_train + n_val, noise)
    if shuffle_labels:
        y[:n_train] = rng.permutation(y[:n_train])
        y[n_train:] = rng.permutation(y[n_train:])
    return Split(x[:n_train], y[:n_train], x[n_train:], y[n_train:])


def _smooth_patterns(rng: np.random.Generator, classes: int, size: int) -> Floats:
    """Sums of a few low-frequency waves, with mean 0 and variance 1."""
    grid = np.arange(size) * 2 * np.pi / size
    patterns = np.zeros((classes, size, size))
    for pattern in patterns:
        for _ in range(4):
            kx, ky = rng.integers(1, 4, 2)
            pattern += np.cos(kx * grid[:, None] + ky * grid[None, :] + rng.uniform(0, 2 * np.pi))
    patterns -= patterns.mean((1, 2), keepdims=True)
    return (patterns / patterns.std((1, 2), keepdims=True)).astype(np.float32)


def _shifted(rng: np.random.Generator, patterns: Floats, n: int, noise: float) -> tuple[Floats, Integers]:
    y = rng.integers(0, len(patterns), n)
    x = np.stack([np.roll(patterns[label], tuple(rng.integers(-2, 3, 2)), (0, 1)) for label in y])
    x = x * rng.uniform(0.6, 1.4, (n, 1, 1)) + noise * rng.standard_normal(x.shape)
    return x[:, None].astype(np.float32), y.astype(np.int64)


def sentences(
    n_train: int, n_val: int, *, classes: int, length: int, vocabulary: int, seed: int, shuffle_labels: bool = False
) -> Split:
    """Token sequences: each class prefers some words, so most sequences show their class, some do not."""
    preferred = np.random.default_rng(11).permutation(np.arange(5, vocabulary))[: classes * 6].reshape(classes, 6)
    rng = np.random.default_rng(seed)
    n = n_train + n_val
    y = rng.integers(0, classes, n)
    x = rng.integers(5, vocabulary, (n, length))
    chosen = rng.random((n, length)) < 0.14
    x[chosen] = preferred[np.repeat(y, length).reshape(n, length)[chosen], rng.integers(0, 6, int(chosen.sum()))]
    if shuffle_labels:
        y = rng.permutation(y)
    return Split(x[:n_train], y[:n_train], x[n_train:], y[n_train:])


def text(n_chars: int, *, seed: int, style: int = 0, words: int = 40) -> str:
    """Made-up words that follow each other in a fixed random grammar; `style` picks the language."""
    grammar = np.random.default_rng(100 + style)
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    lexicon = ["".join(grammar.choice(syllables, grammar.integers(1, 4))) for _ in range(words)]
    successors = grammar.integers(0, words, (words, 4))
    rng = np.random.default_rng(seed)
    picks = rng.choice(4, size=n_chars, p=(0.55, 0.25, 0.15, 0.05))
    current, pieces, length = 0, [], 0
    for i in range(n_chars):
        current = int(successors[current, picks[i]])
        piece = lexicon[current] + (".\n" if i % 9 == 8 else " ")
        pieces.append(piece)
        length += len(piece)
        if length >= n_chars:
            break
    return "".join(pieces)[:n_chars]


def table(n_train: int, n_val: int, *, features: int, noise: float, seed: int, shuffle_labels: bool = False) -> Split:
    """Rows with a yes-or-no label that depends on a few features, some products of them, and noise."""
    task = np.random.default_rng(13)
    weights, pairs = task.normal(0, 1, 6), task.integers(0, features, (4, 2))
    rng = np.random.default_rng(seed)
    n = n_train + n_val
    x = rng.standard_normal((n, features)).astype(np.float32)
    score = x[:, :6] @ weights + sum(x[:, a] * x[:, b] for a, b in pairs) + noise * rng.standard_normal(n)
    y = (score > 0).astype(np.int64)
    if shuffle_labels:
        y = rng.permutation(y)
    return Split(x[:n_train], y[:n_train], x[n_train:], y[n_train:])
