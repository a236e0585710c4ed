"""The step clock, with a scripted clock: where the time of a step goes."""

import pytest
import torch
from instruments.watch.watched_training import batches, logged, model_and_optimizer, train, values

import pulseboard as pb
from pulseboard.instruments.watch import watch
from pulseboard.instruments.watch.step_clock import StepClock


class ScriptedClock:
    """A clock that moves only when the test moves it."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def step(clock, time, *, data=0.0, forward=(0.0,), backward=0.0, optimizer=0.0):
    """One training step with these times; several forward passes accumulate gradients."""
    time.now += data
    for secs in forward:
        clock.forward_begins((torch.zeros(4, 3, dtype=torch.int64),), {})
        time.now += secs
        clock.forward_ended()
        time.now += backward
    clock.backward_ended()
    clock.optimizer_begins()
    time.now += optimizer
    clock.step_ended()


def test_the_time_of_a_step_is_split_into_its_parts():
    time = ScriptedClock()
    clock = StepClock(clock=time)
    step(clock, time, data=9, forward=(9,), backward=9, optimizer=9)  # the first step does not count
    assert clock.averages() == {}
    for _ in range(2):
        step(clock, time, data=0.1, forward=(0.2, 0.3), backward=0.5, optimizer=0.4)
    assert (clock.step_secs, clock.forward_secs, clock.data_secs) == pytest.approx((2.0, 0.5, 0.1))
    found = {tag.removeprefix("train/performance/"): value for tag, value in clock.averages().items()}
    assert found == pytest.approx(
        {
            "forward_time_ms": 500,
            "backward_time_ms": 1000,
            "total_time_ms": 1500,
            "optimizer_time_ms": 400,
            "data_time_ms": 100,
            "step_time_ms": 2000,
            "samples_per_second": 8 / 2,
            "tokens_per_second": 24 / 2,
            "forward_backward_ratio": 0.5,
        }
    )
    assert clock.averages() == {}


def test_an_evaluation_is_not_part_of_a_step(run, monkeypatch):
    time = ScriptedClock()
    monkeypatch.setattr(watch, "StepClock", lambda: StepClock(clock=time))
    model, optimizer = model_and_optimizer()

    def spend_time():
        time.now += 0.25

    with pb.watch(model, optimizer, run=run, overhead=None, every=1, histogram_interval=0):
        for i, x in enumerate(batches(6)):
            if i == 4:
                model.eval()
                model(x)
                time.now += 100
                model.train()
            else:
                time.now += 1  # loading data
            train(model, optimizer, [x], after_backward=spend_time)
            time.now += 0.5  # after the step
    times = values(logged(run), "train/performance/step_time_ms")
    assert times == pytest.approx([1750, 1750, 1750, 250, 1750])
