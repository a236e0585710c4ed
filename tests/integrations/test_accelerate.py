"""Real trainings with Hugging Face's Accelerator."""

import accelerate
import numpy as np
import pytest
from integrations.small_trainings import train_with_accelerate

import pulseboard as pb
from pulseboard.integrations.accelerate import PulseboardTracker


def test_a_training_is_one_run_with_its_configuration(settings, recorded, run_json):
    losses = train_with_accelerate(PulseboardTracker(**settings), rate=0.1, name="line")
    points = recorded()
    assert points["train/loss"] == [(step, pytest.approx(loss)) for step, loss in enumerate(losses)]
    assert len(points["train/rate"]) == 5
    assert run_json()["status"] == "finished"
    assert run_json()["config"] == {"rate": 0.1, "name": "line"}


def test_configuration_strings_and_images_are_recorded_as_such(settings, tmp_path):
    tracker = PulseboardTracker(**settings)
    tracker.store_init_configuration({"rate": 0.1, "name": "line"})
    tracker.log({"train/loss": 1.0, "sample": "once upon"}, step=3)
    tracker.log_images({"one": [np.zeros((4, 4, 3))], "two": np.zeros((2, 4, 4, 3))}, step=3)
    tracker.finish()
    (run,) = pb.read(tmp_path / "runs").values()
    assert run.hparams().values == {"rate": 0.1, "name": "line"}
    assert [(text.step, text.text) for text in run.values("sample", kind="text")] == [(3, "once upon")]
    assert run.tags("image") == ["one", "two/0", "two/1"]


def test_a_run_passed_by_the_user_stays_open_and_is_the_tracker(settings, recorded, run_json):
    with pb.init(**settings) as run:
        tracker = PulseboardTracker(run=run)
        assert tracker.tracker is run
        train_with_accelerate(tracker)
        assert run_json()["status"] == "running"
    assert len(recorded()["train/loss"]) == 5


def test_the_accelerator_returns_the_run(settings):
    accelerator = accelerate.Accelerator(cpu=True, log_with=PulseboardTracker(run_id="mine", **settings))
    accelerator.init_trackers("line")
    assert accelerator.get_tracker("pulseboard", unwrap=True).id == "mine"
    accelerator.end_training()


def test_the_tracker_is_found_by_its_name(settings, tmp_path):
    accelerator = accelerate.Accelerator(cpu=True, log_with="pulseboard")
    accelerator.init_trackers("line", config={"lr": 0.1}, init_kwargs={"pulseboard": settings})
    accelerator.log({"loss": 0.5}, step=3)
    accelerator.end_training()
    (run,) = pb.read(tmp_path / "runs").values()
    assert run.series("loss").steps.tolist() == [3]
    assert run.name.startswith("line/")  # the project
