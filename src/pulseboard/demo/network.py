"""A small network in NumPy: layers with leaky ReLU between them, forward and backward, and two ways to take a step."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_LEAK = 0.1  # what passes of a negative number: so no unit dies for good, whatever happens to the weights


class Network:
    """Weights and biases of some layers, by turns, in `parameters`."""

    def __init__(self, sizes: Sequence[int], rng: np.random.Generator, *, last_scale: float = 0.3) -> None:
        self.parameters: list[Array] = []
        for ins, outs in itertools.pairwise(sizes):
            self.parameters += [rng.normal(0, np.sqrt(2 / ins), (ins, outs)), np.zeros(outs)]
        # The last layer of a classifier begins small, so that its first guess is nearly that of ignorance.
        self.parameters[-2] *= last_scale

    def forward(self, x: Array) -> list[Array]:
        """What each layer takes in, and at the end what the last one gives out."""
        layers = [x]
        for weight, bias in zip(self.parameters[:-2:2], self.parameters[1:-2:2], strict=True):
            sums = layers[-1] @ weight + bias
            layers.append(np.where(sums > 0, sums, _LEAK * sums))
        return [*layers, layers[-1] @ self.parameters[-2] + self.parameters[-1]]

    def backward(self, layers: Sequence[Array], delta: Array) -> tuple[list[Array], Array]:
        """The gradient of each parameter, and that of the input, where `delta` is that of the output."""
        gradients: list[Array] = []
        for i in reversed(range(len(self.parameters) // 2)):
            gradients[:0] = [layers[i].T @ delta, delta.sum(axis=0)]
            delta = delta @ self.parameters[2 * i].T
            if i:
                delta = delta * np.where(layers[i] > 0, 1.0, _LEAK)
        return gradients, delta


class Optimizer(Protocol):
    """Changes parameters in place, and says by how much."""

    def step(self, gradients: Sequence[Array], *, rate: float) -> list[Array]:
        """Take one step; give back what was added to each parameter."""


class Momentum:
    """Stochastic gradient descent with momentum."""

    def __init__(self, parameters: Sequence[Array], *, momentum: float = 0.9) -> None:
        self._parameters, self._momentum = parameters, momentum
        self._speeds = [np.zeros_like(parameter) for parameter in parameters]

    def step(self, gradients: Sequence[Array], *, rate: float) -> list[Array]:
        """Take one step; give back what was added to each parameter."""
        updates = []
        for parameter, speed, gradient in zip(self._parameters, self._speeds, gradients, strict=True):
            speed *= self._momentum
            speed += gradient
            update: Any = -rate * speed
            parameter += update
            updates.append(update)
        return updates


class Adam:
    """Adam, with its usual constants."""

    def __init__(self, parameters: Sequence[Array], *, betas: tuple[float, float] = (0.9, 0.999)) -> None:
        self._parameters, self._betas = parameters, betas
        self._means = [np.zeros_like(parameter) for parameter in parameters]
        self._squares = [np.zeros_like(parameter) for parameter in parameters]
        self._steps = 0

    def step(self, gradients: Sequence[Array], *, rate: float) -> list[Array]:
        """Take one step; give back what was added to each parameter."""
        self._steps += 1
        first, second = self._betas
        updates = []
        for parameter, mean, square, gradient in zip(
            self._parameters, self._means, self._squares, gradients, strict=True
        ):
            mean += (1 - first) * (gradient - mean)
            square += (1 - second) * (gradient * gradient - square)
            unbiased, scale = mean / (1 - first**self._steps), np.sqrt(square / (1 - second**self._steps)) + 1e-8
            update: Any = -rate * unbiased / scale
            parameter += update
            updates.append(update)
        return updates


def norm(arrays: Sequence[Array]) -> float:
    """The length of all numbers together."""
    return float(np.sqrt(sum(float((array * array).sum()) for array in arrays)))
