"""The demonstration's network: its gradients are those of its loss, and its optimizers go down."""

import numpy as np
import pytest

from pulseboard.demo.network import Adam, Momentum, Network, norm


def error(network, x, wanted):
    return 0.5 * ((network.forward(x)[-1] - wanted) ** 2).sum()


@pytest.fixture
def task():
    rng = np.random.default_rng(0)
    return Network([3, 7, 5, 2], rng), rng.normal(size=(11, 3)), rng.normal(size=(11, 2))


def test_gradients_are_the_slopes_of_the_loss(task):
    network, x, wanted = task
    layers = network.forward(x)
    gradients, by_input = network.backward(layers, layers[-1] - wanted)
    for array, gradient in [*zip(network.parameters, gradients, strict=True), (x, by_input)]:
        place = tuple(n // 2 for n in array.shape)
        before = array[place]
        array[place] = before + 1e-6
        above = error(network, x, wanted)
        array[place] = before - 1e-6
        below = error(network, x, wanted)
        array[place] = before
        assert gradient[place] == pytest.approx((above - below) / 2e-6, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(("optimizer", "rate"), [(Momentum, 3e-3), (Adam, 1e-2)])
def test_steps_go_down_and_tell_what_they_changed(task, optimizer, rate):
    network, x, wanted = task
    chosen = optimizer(network.parameters)
    began = error(network, x, wanted)
    for _ in range(200):
        before = [parameter.copy() for parameter in network.parameters]
        layers = network.forward(x)
        gradients, _ = network.backward(layers, layers[-1] - wanted)
        updates = chosen.step(gradients, rate=rate)
    for parameter, old, update in zip(network.parameters, before, updates, strict=True):
        np.testing.assert_allclose(parameter, old + update)
    assert error(network, x, wanted) < 0.3 * began


def test_the_norm_is_of_all_arrays_together():
    assert norm([np.array([3.0]), np.array([[4.0]])]) == 5.0
