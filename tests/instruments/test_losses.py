"""Losses, stability, EMA, clipping, evaluation and performance match their plain definitions."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from instruments import plain

from pulseboard.instruments.math.window import Window
from pulseboard.instruments.metrics import ema as ema_module
from pulseboard.instruments.metrics.clipping import Clipping
from pulseboard.instruments.metrics.ema import ema
from pulseboard.instruments.metrics.epoch_loss import EpochLoss
from pulseboard.instruments.metrics.evaluation import evaluation, loss_by_noise
from pulseboard.instruments.metrics.losses import Convergence, hierarchical_losses
from pulseboard.instruments.metrics.performance import performance
from pulseboard.instruments.metrics.stability import Stability

LOSS = st.floats(1 / 64, 100, width=32)
# A number in the forms a training loop may have it.
SCALARS = {
    "float": float,
    "numpy": np.float32,
    "float64 tensor": lambda x: torch.tensor(x, dtype=torch.float64),
    "float32 tensor": lambda x: torch.tensor(x, requires_grad=True) * 1,
}


def each_kind(test):
    return pytest.mark.parametrize("kind", SCALARS.values(), ids=SCALARS)(test)


# ---- hierarchical losses


@each_kind
@settings(deadline=None, max_examples=30)
@given(losses=st.lists(LOSS, min_size=1, max_size=4), weight=st.floats(0.125, 4, width=16))
def test_hierarchical_losses_match_their_definition(kind, losses, weight):
    weights = [weight, 0.5, 0.25, 1.0][: len(losses)]
    total = sum(w * x for w, x in zip(weights, losses, strict=True))
    want = {"train/loss/total": total, "train/loss/unweighted": sum(losses) / len(losses)}
    for i, (w, x) in enumerate(zip(weights, losses, strict=True)):
        want |= {f"train/loss/h{i}": x, f"train/loss/contribution_h{i}": 100 * w * x / total}
    plain.assert_close(hierarchical_losses([kind(x) for x in losses], weights=weights), want)


def test_levels_count_equally_without_weights():
    found = hierarchical_losses([3.0, 1.0])
    assert found["train/loss/total"] == 4
    assert found["train/loss/contribution_h0"] == 75


@each_kind
def test_losses_of_zero_have_no_shares(kind):
    assert math.isnan(hierarchical_losses([kind(0.0), kind(0.0)])["train/loss/contribution_h1"])


def test_no_losses_give_nan_and_a_missing_weight_raises():
    assert math.isnan(hierarchical_losses([])["train/loss/total"])
    with pytest.raises(ValueError, match="2 losses but 1 weights"):
        hierarchical_losses([1.0, 2.0], weights=[1.0])


def test_tensors_and_numbers_can_be_mixed():
    assert float(hierarchical_losses([torch.tensor(1.0), 3.0])["train/loss/total"]) == 4


@each_kind
def test_convergence_compares_the_halves_of_the_window(kind):
    convergence = Convergence(window_steps=5)
    assert convergence([kind(9.0)]) == {}
    for loss in (8.0, 4.0, 4.0, 3.0, 2.0, 1.0):
        found = convergence([kind(loss)])
    # The window is 4 4 3 2 1: halves 4 4 and 2 1.
    assert float(found["train/convergence/rate_h0"]) == pytest.approx((4 - 1.5) / 4)


# ---- the window


@settings(deadline=None)
@given(values=st.lists(LOSS, max_size=30), size=st.integers(1, 8), tensors=st.booleans())
def test_a_window_keeps_the_last_values(values, size, tensors):
    window = Window(size)
    for value in values:
        window.add(torch.tensor(value) if tensors else value)
    assert [float(value) for value in window.values()] == values[-size:]
    assert len(window) == min(size, len(values))


def test_a_window_accepts_tensors_after_numbers():
    window = Window(3)
    for value in (1.0, torch.tensor(2.0), 3.0):
        window.add(value)
    assert window.values().tolist() == [1, 2, 3]


def test_a_window_of_size_zero_is_refused():
    with pytest.raises(ValueError, match="at least 1, not 0"):
        Window(0)


# ---- stability


@each_kind
@settings(deadline=None, max_examples=30)
@given(losses=st.lists(LOSS, min_size=2, max_size=12))
def test_stability_matches_its_definition(kind, losses):
    stability = Stability(window_steps=6)
    for loss in losses:
        found = stability(kind(loss), validation_loss=kind(2.0))
    last = np.asarray(losses[-6:])
    want = {
        "train/stability/loss_smoothness": np.var(last),
        "train/stability/loss_trend_slope": np.polyfit(np.arange(len(last)), last, 1)[0],
        "train/stability/loss_spike_ratio": max(last) / min(last),
        "train/stability/val_train_loss_ratio": 2 / np.mean(last),
    }
    plain.assert_close(found, want, rtol=1e-4, atol=2e-4)


@each_kind
def test_the_first_step_has_no_slope_and_a_run_without_validation_no_ratio(kind):
    found = plain.as_floats(Stability()(kind(2.0)))
    assert found == {"train/stability/loss_smoothness": 0, "train/stability/loss_spike_ratio": 1}


@each_kind
def test_a_nan_lasts_until_it_leaves_the_window(kind):
    stability = Stability(window_steps=2)
    assert math.isnan(stability(kind(float("nan")))["train/stability/loss_spike_ratio"])
    stability(kind(1.0))
    assert float(stability(kind(1.0))["train/stability/loss_spike_ratio"]) == 1


@each_kind
def test_a_loss_of_zero_does_not_raise(kind):
    assert math.isnan(Stability()(kind(0.0), validation_loss=0.0)["train/stability/val_train_loss_ratio"])


# ---- EMA


def plain_ema(context, target):
    differences = [np.linalg.norm((c - t).ravel()) for c, t in zip(context, target, strict=True)]

    def norm(weights):
        return math.sqrt(sum(float(w**2) for each in weights for w in each.ravel()))

    return {
        "train/ema/momentum_current": 0.996,
        "train/ema/momentum_target": 1.0,
        "train/ema/avg_parameter_divergence": np.mean(differences),
        "train/ema/weight_magnitude_ratio": norm(target) / norm(context),
    }


@pytest.mark.parametrize("dtype", [None, torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("chunk", [1, 20, 1 << 24])
def test_ema_matches_its_definition(dtype, chunk, monkeypatch):
    monkeypatch.setattr(ema_module, "_CHUNK_NUMBERS", chunk)
    random = np.random.default_rng(0)
    context = [random.normal(size=shape) for shape in ((4, 5), (7,), (), (2, 3, 2))]
    target = [c + 0.1 * random.normal(size=c.shape) for c in context]
    if dtype is not None:
        context, target = ([torch.tensor(w, dtype=dtype) for w in each] for each in (context, target))
        want = plain_ema(*([w.double().numpy() for w in each] for each in (context, target)))
    else:
        want = plain_ema(context, target)
    plain.assert_close(ema(context, target, momentum=0.996), want)


def test_ema_accepts_the_parameters_of_models_and_leaves_them_unchanged():
    ours, theirs = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    before = [p.detach().clone() for p in ours.parameters()]
    found = ema(ours.parameters(), theirs.parameters(), momentum=1.0)
    assert not found["train/ema/avg_parameter_divergence"].requires_grad
    assert all(torch.equal(a, b) for a, b in zip(before, ours.parameters(), strict=True))


def test_ema_of_equal_zero_and_no_parameters():
    same = plain.as_floats(ema([np.ones(3)], [np.ones(3)], momentum=1.0))
    assert same["train/ema/avg_parameter_divergence"] == 0
    assert same["train/ema/weight_magnitude_ratio"] == 1
    for none in ([], [np.zeros(2)], [torch.zeros(2)], [torch.zeros(0)]):
        assert math.isnan(ema(none, none, momentum=1.0)["train/ema/weight_magnitude_ratio"])
    assert math.isnan(ema([], [], momentum=1.0)["train/ema/avg_parameter_divergence"])


def test_ema_of_different_models_raises():
    with pytest.raises(ValueError, match="2 parameters and the target 1"):
        ema([np.ones(1), np.ones(1)], [np.ones(1)], momentum=1.0)


# ---- clipping


@pytest.mark.parametrize("scale", [0.0, 0.1, 0.999, 5.0])
def test_clipping_reports_what_clip_grad_norm_did(scale):
    weight = torch.nn.Parameter(torch.zeros(8))
    weight.grad = scale * torch.nn.functional.normalize(torch.arange(8.0), dim=0)
    before = torch.nn.utils.clip_grad_norm_([weight], 1.0)
    found = plain.as_floats(Clipping(1.0)(before))
    after = float(weight.grad.norm())
    want = {
        "train/gradient/global_norm_before_clip": scale,
        "train/gradient/global_norm_after_clip": after,
        "train/gradient/clipping_ratio": after / scale if scale else 1.0,
        "train/gradient/was_clipped": float(scale > 1),
        "train/gradient/clipping_percentage": 100.0 * (scale > 1),
    }
    plain.assert_close(found, want)


@each_kind
def test_the_share_of_clipped_steps_is_of_all_steps(kind):
    clipping = Clipping(1.0)
    for norm in (0.5, 2.0, 3.0, float("nan"), 1.0):
        found = clipping(kind(norm))
    assert float(found["train/gradient/clipping_percentage"]) == pytest.approx(40)
    assert float(clipping(kind(4.0), kind(1.0))["train/gradient/clipping_ratio"]) == 0.25


# ---- evaluation


@settings(deadline=None, max_examples=40)
@given(count=st.integers(0, 45), seed=st.integers(0, 1000))
def test_loss_by_noise_is_the_mean_of_each_tenth(count, seed):
    random = np.random.default_rng(seed)
    timesteps, losses = random.permutation(1000)[:count], random.random(count)
    ordered = [loss for _, loss in sorted(zip(timesteps, losses, strict=True))]
    want = {}
    for k in range(1, 11):
        band = ordered[(count * (k - 1) + 5) // 10 : (count * k + 5) // 10]
        if band:
            want[f"eval/val/loss_quantile_{k / 10:.1f}"] = sum(band) / len(band)
    plain.assert_close(loss_by_noise(timesteps, losses, name="val"), want)
    plain.assert_close(loss_by_noise(torch.tensor(timesteps), torch.tensor(losses).float(), name="val"), want)


def test_quantiles_can_be_chosen():
    found = loss_by_noise([1, 2, 3, 4], [1.0, 2.0, 3.0, 4.0], name="x", quantiles=(1.0, 0.25))
    assert found == {"eval/x/loss_quantile_0.25": 1.0, "eval/x/loss_quantile_1.0": 3.0}


def test_a_mean_instead_of_losses_raises():
    with pytest.raises(ValueError, match="4 timesteps but 1 losses"):
        loss_by_noise([1, 2, 3, 4], [2.5])


def test_evaluation_is_a_mean_and_a_time():
    assert evaluation([1.0, 2.0], name="val", secs=3.5) == {"val/loss": 1.5, "eval/eval_time_sec": 3.5}
    assert evaluation([torch.tensor(1.0), torch.tensor(2.0)]) == {"validation/loss": torch.tensor(1.5)}
    assert math.isnan(evaluation([])["validation/loss"])


@each_kind
@settings(deadline=None, max_examples=30)
@given(losses=st.lists(LOSS, min_size=1, max_size=12))
def test_epoch_loss_is_the_mean_since_the_epoch_began(kind, losses):
    epoch = EpochLoss()
    epoch(kind(1e6), samples=3)
    epoch.begin_epoch()
    for i, loss in enumerate(losses):
        found = epoch(kind(loss), samples=i + 1)
    want = np.average(losses, weights=np.arange(1, len(losses) + 1))
    plain.assert_close(found, {"train/loss": losses[-1], "train/epoch_loss": want})


# ---- performance


def test_performance_is_in_milliseconds_and_samples_per_second():
    found = performance(forward_secs=0.1, backward_secs=0.3, samples=64)
    want = {
        "train/performance/forward_time_ms": 100,
        "train/performance/backward_time_ms": 300,
        "train/performance/total_time_ms": 400,
        "train/performance/samples_per_second": 160,
        "train/performance/forward_backward_ratio": 1 / 3,
    }
    plain.assert_close(found, want)
    found = performance(forward_secs=0.1, backward_secs=0.3, samples=64, step_secs=0.5)
    assert found["train/performance/samples_per_second"] == 128
    assert math.isnan(performance(forward_secs=0, backward_secs=0, samples=0)["train/performance/samples_per_second"])
