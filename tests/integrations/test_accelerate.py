"""Real trainings with Hugging Face's Accelerator."""


import pytest
import torch

import pulseboard as pb

accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")
from pulseboard.integrations.accelerate import PulseboardTracker


def train(tracker, **config):
    """Fits y = 2x, and gives back the losses it logged."""
    accelerator = accelerate.Accelerator(cpu=True, log_with=tracker)
    accelerator.init_trackers("line", config=config)
    layer = torch.nn.Linear(1, 1)
    layer, optimizer = accelerator.prepare(layer, torch.optim.SGD(layer.parameters(), lr=0.1))
    x = torch.linspace(0, 1, 8)[:, None]
    losses = []
    for step in range(5):
        loss = torch.nn.functional.mse_loss(layer(x), 2 * x)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        accelerator.log({"train/loss": loss, "train/rate": 0.1}, step=step)
        losses.append(loss.item())
    accelerator.end_training()
    return losses


def test_a_training_is_one_run_with_its_configuration(settings, recorded, told):
    losses = train(PulseboardTracker(**settings), rate=0.1, name="line")
    points = recorded()
    assert points["train/loss"] == [(step, pytest.approx(loss)) for step, loss in enumerate(losses)]
    assert len(points["train/rate"]) == 5
    assert told()["status"] == "finished"
    assert told()["config"] == {"rate": 0.1, "name": "line"}


def test_a_run_that_is_given_stays_open_and_is_the_tracker(settings, recorded, told):
    with pb.init(**settings) as run:
        tracker = PulseboardTracker(run=run)
        assert tracker.tracker is run
        train(tracker)
        assert told()["status"] == "running"
    assert len(recorded()["train/loss"]) == 5


def test_the_accelerator_hands_out_the_run(settings):
    accelerator = accelerate.Accelerator(cpu=True, log_with=PulseboardTracker(run_id="mine", **settings))
    accelerator.init_trackers("line")
    assert accelerator.get_tracker("pulseboard", unwrap=True).id == "mine"
    accelerator.end_training()
