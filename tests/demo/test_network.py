"""The network of the demo: its gradients match its loss, and its optimizers reduce it."""

import numpy as np
import pytest

from pulseboard.demo.network import Adam, Momentum, Network, norm


def error(network, x, wanted):
    return 0.5 * ((network.forward(x)[-1] - wanted) ** 2).sum()


@pytest.fixture
def task():
    rng = np.random.default_rng(0)
    return Network([3, 7, 5, 2], rng), rng.normal(size=(11, 3)), rng.normal(size=(11, 2))


def test_gradients_match_the_slopes_of_the_loss(task):
    network, x, wanted = task
    layers = network.forward(x)
    gradients, by_input = network.backward(layers, layers[-1] - wanted)
    for array, gradient in [*zip(network.parameters, gradients, strict=True), (x, by_input)]:
        index = tuple(n // 2 for n in array.shape)
        before = array[index]
        array[index] = before + 1e-6
        above = error(network, x, wanted)
        array[index] = before - 1e-6
        below = error(network, x, wanted)
        array[index] = before
        assert gradient[index] == pytest.approx((above - below) / 2e-6, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(("optimizer", "rate"), [(Momentum, 3e-3), (Adam, 1e-2)])
def test_steps_reduce_the_loss_and_return_the_change(task, optimizer, rate):
    network, x, wanted = task
    optimizer = optimizer(network.parameters)
    first_error = error(network, x, wanted)
    for _ in range(200):
        before = [parameter.copy() for parameter in network.parameters]
        layers = network.forward(x)
        gradients, _ = network.backward(layers, layers[-1] - wanted)
        updates = optimizer.step(gradients, rate=rate)
    for parameter, old, update in zip(network.parameters, before, updates, strict=True):
        np.testing.assert_allclose(parameter, old + update)
    assert error(network, x, wanted) < 0.3 * first_error


def test_the_norm_is_of_all_arrays_together():
    assert norm([np.array([3.0]), np.array([[4.0]])]) == 5.0
