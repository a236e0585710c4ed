"""A small network in NumPy: layers with leaky ReLU, forward and backward passes, and two optimizers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_NEGATIVE_SLOPE = 0.1  # so that no unit dies for good, whatever happens to the weights


class Network:
    """`parameters` holds the weight and the bias of each layer in turn."""

    def __init__(self, sizes: Sequence[int], rng: np.random.Generator, *, last_scale: float = 0.3) -> None:
        self.parameters: list[Array] = []
        for ins, outs in itertools.pairwise(sizes):
            self.parameters += [rng.normal(0, np.sqrt(2 / ins), (ins, outs)), np.zeros(outs)]
        # A small last layer: the first predictions of a classifier are then almost uniform.
        self.parameters[-2] *= last_scale

    def forward(self, x: Array) -> list[Array]:
        """The input of each layer, followed by the output of the last."""
        layers = [x]
        for weight, bias in zip(self.parameters[:-2:2], self.parameters[1:-2:2], strict=True):
            sums = layers[-1] @ weight + bias
            layers.append(np.where(sums > 0, sums, _NEGATIVE_SLOPE * sums))
        return [*layers, layers[-1] @ self.parameters[-2] + self.parameters[-1]]

    def backward(self, layers: Sequence[Array], delta: Array) -> tuple[list[Array], Array]:
        """The gradient of each parameter, and that of the input; `delta` is the gradient of the output."""
        gradients: list[Array] = []
        for i in reversed(range(len(self.parameters) // 2)):
            gradients[:0] = [layers[i].T @ delta, delta.sum(axis=0)]
            delta = delta @ self.parameters[2 * i].T
            if i:
                delta = delta * np.where(layers[i] > 0, 1.0, _NEGATIVE_SLOPE)
        return gradients, delta


class Optimizer(Protocol):
    """Changes parameters in place."""

    def step(self, gradients: Sequence[Array], *, rate: float) -> list[Array]:
        """Take one step and return the change of each parameter."""


class Momentum:
    """Stochastic gradient descent with momentum."""

    def __init__(self, parameters: Sequence[Array], *, momentum: float = 0.9) -> None:
        self._parameters, self._momentum = parameters, momentum
        self._velocities = [np.zeros_like(parameter) for parameter in parameters]

    def step(self, gradients: Sequence[Array], *, rate: float) -> list[Array]:
        """Take one step and return the change of each parameter."""
        updates = []
        for parameter, velocity, gradient in zip(self._parameters, self._velocities, gradients, strict=True):
            velocity *= self._momentum
            velocity += gradient
            update: Any = -rate * velocity
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
        """Take one step and return the change of each parameter."""
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
    """The L2 norm of all arrays together."""
    return float(np.sqrt(sum(float((array * array).sum()) for array in arrays)))
