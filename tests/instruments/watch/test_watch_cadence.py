"""watch: how often each measurement runs, and at which steps."""

import pytest
import torch
from instruments.watch.watched_training import EVERY_STEP, batches, logged, model_and_optimizer, train, values

import pulseboard as pb
from pulseboard.instruments import Stability, collapse


def test_one_number_sets_every_cadence(run):
    model, optimizer = model_and_optimizer()
    with pb.watch(model, optimizer, run=run, overhead=None, every=3, histogram_interval=0):
        train(model, optimizer, batches(7))
    got = logged(run)
    assert got.tags("scalar")
    for tag in got.tags("scalar"):
        assert set(got.series(tag).steps.tolist()) <= {0, 3, 6}, tag
    assert got.series("train/gradient_flow/global_norm").steps.tolist() == [0, 3, 6]


def test_a_cadence_of_zero_turns_a_measurement_off(run):
    model, optimizer = model_and_optimizer()
    with pb.watch(model, optimizer, run=run, overhead=None, every={"gradient_flow": 0}, histogram_interval=0):
        train(model, optimizer, batches(3))
    assert "train/gradient_flow/head_mean" not in logged(run).tags("scalar")


def test_short_runs_have_curves_too(run):
    model, optimizer = model_and_optimizer(lr=1e-3)
    with pb.watch(
        model, optimizer, run=run, overhead=None, every={"parameter_norm": 100}, histogram_interval=0
    ) as watching:
        assert not watching.schedule.due("histograms", 0)
        train(model, optimizer, batches(4) * 80)
    got = logged(run)
    assert got.series("train/update_ratio").steps.tolist() == [*range(0, 100, 10), 100, 200, 300]
    assert got.series("train/gradient_flow/zero_share").steps.tolist() == [*range(0, 100, 10)]
    assert got.series("train/total_param_norm").steps.tolist() == [0, 100, 200, 300]


def test_gradient_accumulation_counts_as_one_step(run):
    model, optimizer = model_and_optimizer()
    with pb.watch(model, optimizer, run=run, overhead=None, every=EVERY_STEP, histogram_interval=0):
        train(model, optimizer, batches(12), accumulate=3)
    got = logged(run)
    assert got.series("train/gradient_flow/global_norm").steps.tolist() == [0, 1, 2, 3]
    samples = values(got, "train/performance/samples_per_second")
    times = values(got, "train/performance/step_time_ms")
    assert [s * t / 1000 for s, t in zip(samples, times, strict=True)] == pytest.approx([12.0] * len(samples), rel=1e-3)


def test_steps_follow_the_loop_when_it_resumes(run):
    model, optimizer = model_and_optimizer()
    run.log({"loss": 1.0}, step=1000)
    with pb.watch(model, optimizer, run=run, overhead=None, every=EVERY_STEP, histogram_interval=0):
        for step, x in enumerate(batches(3), start=1001):
            run.log({"loss": 1.0}, step=step)
            train(model, optimizer, [x])
    assert logged(run).series("train/gradient_flow/global_norm").steps.tolist() == [1001, 1002, 1003]


def test_watching_does_not_advance_the_loops_own_step(run):
    model, optimizer = model_and_optimizer()
    with pb.watch(model, optimizer, run=run, overhead=None, histogram_interval=0):
        for x in batches(3):
            train(model, optimizer, [x])
            run.log({"loss": 1.0})
    assert logged(run).series("loss").steps.tolist() == [0, 1, 2]


def test_an_instrument_is_called_at_its_own_cadence_for_each_level(run):
    model, optimizer = model_and_optimizer()
    stability = Stability(window_steps=10)
    with pb.watch(model, optimizer, run=run, overhead=None, histogram_interval=0) as watching:
        for x in batches(201):
            for level in (0, 1):
                watching.measure(collapse, torch.randn(16, 4), level=level)
            watching.measure(stability, 1.0)
            train(model, optimizer, [x])
        with pytest.raises(ValueError, match="not declared as an instrument"):
            watching.measure(dict)
    got = logged(run)
    for level in (0, 1):
        assert got.series(f"train/collapse/level{level}_effective_rank").steps.tolist() == [0, 100, 200]
    assert len(got.series("train/stability/loss_smoothness")) == 201
