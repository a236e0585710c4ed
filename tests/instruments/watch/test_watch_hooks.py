"""watch: the training does not notice it, and failures do not reach the loop."""

import gc

import pytest
import torch
from instruments.watch.watched_training import EVERY_STEP, batches, logged, model_and_optimizer, train
from torch import nn

import pulseboard as pb
from pulseboard.instruments.watch.measurement import all_measurements


def test_the_training_itself_stays_bit_identical(run):
    plain, plain_optimizer = model_and_optimizer()
    train(plain, plain_optimizer, batches(20))
    watched, optimizer = model_and_optimizer()
    with pb.watch(watched, optimizer, run=run, overhead=None, every=EVERY_STEP, histogram_interval=5, dead_units=True):
        train(watched, optimizer, batches(20))
    for a, b in zip(plain.parameters(), watched.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_compiled_model_is_watched(run):
    torch.manual_seed(0)
    inner = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    model = torch.compile(inner, backend="eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pb.watch(model, optimizer, run=run, overhead=None, every=EVERY_STEP, histogram_interval=2):
        train(model, optimizer, batches(3))
    got = logged(run)
    assert len(got.series("train/gradient_flow/global_norm")) == 3
    assert "Parameters/0.weight" in got.tags("histogram")


def test_closing_removes_every_hook(run):
    model, optimizer = model_and_optimizer()
    watching = pb.watch(model, optimizer, run=run, dead_units=True)
    watching.close()
    assert not model._forward_hooks
    assert not model._forward_pre_hooks
    assert not optimizer._optimizer_step_pre_hooks
    assert not optimizer._optimizer_step_post_hooks
    train(model, optimizer, batches(2))
    assert logged(run).tags() == []


def test_a_failing_instrument_never_reaches_the_loop(run, capsys, monkeypatch):
    def broken(measurement):
        raise RuntimeError("boom")

    monkeypatch.setattr(all_measurements()["sparsity"], "before_step", broken)
    model, optimizer = model_and_optimizer()
    watching = pb.watch(model, optimizer, run=run, overhead=None, every=EVERY_STEP, histogram_interval=0)
    train(model, optimizer, batches(4))
    watching.close()
    assert capsys.readouterr().err.count("The instrument sparsity stopped at step 0: RuntimeError: boom") == 1
    assert len(logged(run).series("train/gradient_flow/global_norm")) == 4


def test_wrong_calls_get_advice(tmp_path):
    model, optimizer = model_and_optimizer()
    if (previous := pb.current_run()) is not None:
        previous.finish()
    with pytest.raises(ValueError, match=r"Call pulseboard.init\(\) first"):
        pb.watch(model, optimizer)
    with pb.init(dir=tmp_path, telemetry_secs=0), pytest.raises(ValueError, match="has no measurement 'gradients'"):
        pb.watch(model, optimizer, every={"gradients": 1})
    with pb.init(dir=tmp_path, telemetry_secs=0), pytest.raises(ValueError, match="histogram_tags must be two tags"):
        pb.watch(model, optimizer, histogram_tags=("weights", "gradients"))


def test_ten_thousand_steps_leak_no_tensors(run):
    model, optimizer = model_and_optimizer(lr=1e-3)
    data = batches(4)
    with pb.watch(model, optimizer, run=run, overhead=None, histogram_interval=1000):
        train(model, optimizer, data * 250)
        run.flush()
        gc.collect()
        before = sum(1 for o in gc.get_objects() if issubclass(type(o), torch.Tensor))
        train(model, optimizer, data * 2500)
        run.flush()
        gc.collect()
        after = sum(1 for o in gc.get_objects() if issubclass(type(o), torch.Tensor))
    assert after <= before + 2
