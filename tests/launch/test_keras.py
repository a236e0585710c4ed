"""A Keras training on torch is watched as one of torch is, and gives the same losses."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest
from launch.test_launch import environment, pulseboard_run, recorded

pytestmark = pytest.mark.early
TRAINING = """
import keras, numpy as np
keras.utils.set_random_seed(0)
model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(1e-2), loss="mse")
x = np.random.default_rng(0).normal(size=(256, 8)).astype("float32")
history = model.fit(x, x[:, :1], batch_size=16, epochs=4, verbose=0)
print([float(value).hex() for value in history.history["loss"]])
"""


def test_gradients_and_updates_of_keras_on_torch_are_recorded_and_losses_stay_the_same(tmp_path):
    for name in ("keras", "torch"):  # not imported here: Keras would take another backend
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    (tmp_path / "train.py").write_text(TRAINING)
    env = environment(KERAS_BACKEND="torch", KERAS_HOME=str(tmp_path))
    command = [sys.executable, str(tmp_path / "train.py")]
    plain = subprocess.run(command, capture_output=True, env=env, cwd=tmp_path)
    done = pulseboard_run(tmp_path, *command, env=env, options=["--no-diagnosis"])
    assert done.returncode == 0, done.stderr
    assert done.stdout == plain.stdout
    run, _ = recorded(tmp_path)
    norm = run.series("train/gradient_flow/global_norm")
    assert len(norm) > 1
    assert np.isfinite(norm.values).all()
    assert any("update" in tag for tag in run.tags("scalar"))
