"""Real trainings with Keras on its torch backend."""

import keras
import numpy as np
import pytest
from integrations.small_trainings import keras_model

import pulseboard as pb
from pulseboard.integrations.keras import PulseboardCallback

# A warning of Keras itself, from converting its variables to NumPy arrays.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy:DeprecationWarning")

X = np.linspace(0, 1, 16, dtype=np.float32)[:, None]


def fit(line, callback, **named):
    arguments = {"epochs": 2, "batch_size": 4, "validation_data": (X, 2 * X), **named}
    return line.fit(X, 2 * X, callbacks=[callback], verbose=0, **arguments).history


def steps(points):
    return [step for step, _ in points]


def test_epochs_are_logged_at_the_optimizers_step(settings, recorded, run_json):
    history = fit(keras_model(), PulseboardCallback(**settings))
    points = recorded()
    for area, prefix in (("train", ""), ("val", "val_")):
        for name in ("loss", "mae"):
            values = history[prefix + name]
            assert points[f"{area}/{name}"] == [(4, pytest.approx(values[0])), (8, pytest.approx(values[1]))]
    assert points["train/learning_rate"] == [(4, 0.5), (8, 0.25)]
    assert points["train/epoch"] == [(4, 1.0), (8, 2.0)]
    assert run_json()["status"] == "finished"
    config = run_json()["config"]
    assert (config["epochs"], config["steps_per_epoch"]) == (2, 4)
    assert config["model"] == {"name": "line", "parameters": 2}
    assert config["optimizer"]["learning_rate"]["config"]["values"] == [0.5, 0.25]


@pytest.mark.parametrize(
    ("update_freq", "want"),
    [("batch", [1, 2, 3, 4, 5, 6, 7, 8]), (3, [3, 4, 7, 8]), (100, [4, 8])],
)
def test_batches_are_logged_at_the_update_frequency(settings, recorded, update_freq, want):
    history = fit(keras_model(), PulseboardCallback(update_freq=update_freq, **settings))
    points = recorded()
    assert steps(points["train/loss"]) == want
    assert dict(points["train/loss"])[8] == pytest.approx(history["loss"][1])
    assert steps(points["val/loss"]) == steps(points["train/learning_rate"]) == [4, 8]


def test_several_batches_in_one_execution_are_counted(settings, recorded):
    """As Keras calls it with steps_per_execution=2, which its torch backend does not support."""
    with pb.init(**settings) as run:
        callback = PulseboardCallback(update_freq=3, run=run)
        callback.set_model(keras_model())
        callback.on_epoch_begin(0)
        for last in (1, 3, 5, 7):
            callback.model.optimizer.iterations.assign(last + 1)
            callback.on_train_batch_end(last, {"loss": 1.0})
    assert steps(recorded()["train/loss"]) == [4, 6]


def test_a_second_fit_and_an_evaluation_continue_the_run(settings, recorded, run_json):
    line, callback = keras_model(), PulseboardCallback(**settings)
    fit(line, callback)
    assert run_json()["status"] == "finished"
    fit(line, callback, epochs=3, initial_epoch=2)
    loss, _ = line.evaluate(X, 2 * X, callbacks=[callback], verbose=0)
    points = recorded()
    assert steps(points["train/loss"]) == [4, 8, 12]
    assert points["test/loss"] == [(12, pytest.approx(loss))]
    assert run_json()["status"] == "finished"


def test_a_run_passed_by_the_user_stays_open(settings, recorded, run_json):
    with pb.init(**settings) as run:
        fit(keras_model(), PulseboardCallback(run=run), epochs=1)
        assert run_json()["status"] == "running"
    assert steps(recorded()["train/loss"]) == [4]


def test_gradient_accumulation_and_loss_scaling_do_not_hide_the_learning_rate(settings, recorded):
    line = keras_model()
    inner = keras.optimizers.SGD(0.5, gradient_accumulation_steps=2)
    line.compile(optimizer=keras.optimizers.LossScaleOptimizer(inner), loss="mse")
    fit(line, PulseboardCallback(**settings), epochs=1)
    assert recorded()["train/learning_rate"][0][1] == 0.5


def test_a_schedule_without_a_config_is_accepted(settings, recorded, run_json):
    class Halving(keras.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step):
            return 0.5 ** (keras.ops.cast(step, "float32") + 1)

    line = keras_model()
    line.compile(optimizer=keras.optimizers.SGD(Halving(), name="plain"), loss="mse")
    fit(line, PulseboardCallback(**settings), epochs=1)
    assert run_json()["config"]["optimizer"] == {"name": "plain"}
    assert recorded()["train/learning_rate"] == [(4, 0.5**5)]


def test_an_update_freq_below_one_is_refused(settings):
    with pytest.raises(ValueError, match="update_freq must be 'epoch', 'batch' or at least 1, not 0"):
        PulseboardCallback(update_freq=0, **settings)
