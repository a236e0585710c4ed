"""Instruments accept JAX arrays and Keras tensors. Each test runs where its framework is installed."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

from pulseboard.instruments import (
    Clipping,
    Convergence,
    EpochLoss,
    Stability,
    collapse,
    ema,
    evaluation,
    hierarchical_losses,
    hierarchy,
    language_model,
    loss_by_noise,
    loss_estimates,
    masking,
    moe,
    prediction,
)

FEATURES = np.random.default_rng(0).normal(size=(6, 5, 8)).astype(np.float32)
LOSSES = np.array([2.0, 1.5, 0.25], dtype=np.float32)


def assert_close(found, want):
    # Not the one in plain.py, which imports torch.
    assert set(found) == set(want)
    for tag, value in want.items():
        np.testing.assert_allclose(float(found[tag]), value, rtol=1e-5, atol=1e-6, err_msg=tag)


def last_of(make, *calls):
    measure = make()
    return [measure(*call) for call in calls][-1]


# `of` converts an array to NumPy or to another framework.
CALLS = {
    "clipping": lambda of: last_of(lambda: Clipping(1.0), (of(LOSSES[0]),), (of(LOSSES[2]),)),
    "collapse": lambda of: collapse(of(FEATURES), level=0),
    "convergence": lambda of: last_of(Convergence, *(([of(loss)],) for loss in LOSSES)),
    "ema": lambda of: ema([of(FEATURES)], [of(FEATURES + 1)], momentum=0.99),
    "epoch loss": lambda of: last_of(EpochLoss, *((of(loss),) for loss in LOSSES)),
    "evaluation": lambda of: evaluation(of(LOSSES)),
    "hierarchical losses": lambda of: hierarchical_losses([of(loss) for loss in LOSSES], weights=[1.0, 0.5, 0.25]),
    "hierarchy": lambda of: hierarchy(of(FEATURES), level=1),
    "language model": lambda of: language_model.step(of(LOSSES[0]), gradient_norm=of(LOSSES[1]), clip_norm=1.0),
    "loss by noise": lambda of: loss_by_noise(of(LOSSES), of(LOSSES), quantiles=(0.5, 1.0)),
    "loss estimates": lambda of: loss_estimates(of(LOSSES), val_losses=of(LOSSES)),
    "masking": lambda of: masking(of(FEATURES[..., 0] > 0)),
    "moe": lambda of: moe([of(FEATURES[0])], top_k=2),
    "prediction": lambda of: prediction(of(FEATURES), of(FEATURES[::-1]), level=0),
    "stability": lambda of: last_of(Stability, *((of(loss),) for loss in LOSSES)),
}


@pytest.mark.parametrize("call", CALLS)
def test_jax_arrays_give_the_same_values_as_numpy(call):
    jax = pytest.importorskip("jax", reason="jax is not installed: pip install jax, and run this file again")
    found = CALLS[call](jax.numpy.asarray)
    assert_close(found, CALLS[call](np.asarray))
    for tag, value in found.items():
        assert isinstance(value, float | int), tag


def test_jax_arrays_of_sixteen_bits_work():
    jax = pytest.importorskip("jax", reason="jax is not installed: pip install jax, and run this file again")
    half = jax.numpy.asarray(FEATURES, dtype=jax.numpy.bfloat16)
    assert_close(collapse(half, level=0), collapse(np.asarray(half, dtype=np.float64), level=0))


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_keras_tensors_work(backend):
    for needed in ("keras", backend):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed: pip install {needed}, and run this file again")
    code = """
import numpy as np
from keras import ops
from pulseboard.instruments import hierarchical_losses, prediction
x = np.random.default_rng(0).normal(size=(20, 4)).astype("float32")
want = prediction(x, x[::-1], level=0)
found = prediction(ops.convert_to_tensor(x), ops.convert_to_tensor(x[::-1].copy()), level=0)
for tag, value in want.items():
    np.testing.assert_allclose(float(found[tag]), value, rtol=1e-4, atol=1e-5, err_msg=tag)
assert float(hierarchical_losses([ops.convert_to_tensor(2.0)])["train/loss/total"]) == 2.0
"""
    environment = {**os.environ, "KERAS_BACKEND": backend}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
