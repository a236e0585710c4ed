"""The framework-free instruments take the arrays of JAX and Keras. Each half runs where its framework is installed."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

from pulseboard.instruments import language_model
from pulseboard.instruments.clipping import Clipping
from pulseboard.instruments.collapse import collapse
from pulseboard.instruments.ema import ema
from pulseboard.instruments.epoch_loss import EpochLoss
from pulseboard.instruments.evaluation import evaluation, loss_by_noise
from pulseboard.instruments.hierarchy import hierarchy
from pulseboard.instruments.loss_estimates import loss_estimates
from pulseboard.instruments.losses import Convergence, hierarchical_losses
from pulseboard.instruments.masking import masking
from pulseboard.instruments.moe import moe
from pulseboard.instruments.prediction import prediction
from pulseboard.instruments.stability import Stability

FEATURES = np.random.default_rng(0).normal(size=(6, 5, 8)).astype(np.float32)
LOSSES = np.array([2.0, 1.5, 0.25], dtype=np.float32)


def assert_close(found, want):
    # No torch here, which the plain definitions' file has.
    assert set(found) == set(want)
    for tag, value in want.items():
        np.testing.assert_allclose(float(found[tag]), value, rtol=1e-5, atol=1e-6, err_msg=tag)


def thrice(make, *calls):
    measure = make()
    return [measure(*call) for call in calls][-1]


# Each takes arrays through `of`, which makes them NumPy's or another framework's.
CALLS = {
    "clipping": lambda of: thrice(lambda: Clipping(1.0), (of(LOSSES[0]),), (of(LOSSES[2]),)),
    "collapse": lambda of: collapse(of(FEATURES), level=0),
    "convergence": lambda of: thrice(Convergence, *(([of(loss)],) for loss in LOSSES)),
    "ema": lambda of: ema([of(FEATURES)], [of(FEATURES + 1)], momentum=0.99),
    "epoch loss": lambda of: thrice(EpochLoss, *((of(loss),) for loss in LOSSES)),
    "evaluation": lambda of: evaluation(of(LOSSES)),
    "hierarchical losses": lambda of: hierarchical_losses([of(loss) for loss in LOSSES], weights=[1.0, 0.5, 0.25]),
    "hierarchy": lambda of: hierarchy(of(FEATURES), level=1),
    "language model": lambda of: language_model.step(of(LOSSES[0]), gradient_norm=of(LOSSES[1]), clip_norm=1.0),
    "loss by noise": lambda of: loss_by_noise(of(LOSSES), of(LOSSES), quantiles=(0.5, 1.0)),
    "loss estimates": lambda of: loss_estimates(of(LOSSES), val_losses=of(LOSSES)),
    "masking": lambda of: masking(of(FEATURES[..., 0] > 0)),
    "moe": lambda of: moe([of(FEATURES[0])], top_k=2),
    "prediction": lambda of: prediction(of(FEATURES), of(FEATURES[::-1]), level=0),
    "stability": lambda of: thrice(Stability, *((of(loss),) for loss in LOSSES)),
}


@pytest.mark.parametrize("call", CALLS)
def test_jax_arrays_give_what_numpys_give(call):
    jax = pytest.importorskip("jax", reason="jax is not installed here: pip install jax, and run this file again")
    found = CALLS[call](jax.numpy.asarray)
    assert_close(found, CALLS[call](np.asarray))
    for tag, value in found.items():
        assert isinstance(value, float | int), tag


def test_jax_arrays_of_sixteen_bits_are_understood():
    jax = pytest.importorskip("jax", reason="jax is not installed here: pip install jax, and run this file again")
    half = jax.numpy.asarray(FEATURES, dtype=jax.numpy.bfloat16)
    assert_close(collapse(half, level=0), collapse(np.asarray(half, dtype=np.float64), level=0))


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_keras_tensors_are_understood(backend):
    for needed in ("keras", backend):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed here: pip install {needed}, and run this file again")
    code = """
import numpy as np
from keras import ops
from pulseboard.instruments.losses import hierarchical_losses
from pulseboard.instruments.prediction import prediction
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
