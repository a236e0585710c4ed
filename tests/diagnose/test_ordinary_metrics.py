"""Faults that show only in losses, scores and times, and the near misses that must stay quiet."""

import numpy as np
import pytest

from pulseboard.diagnose.detector import run_detectors


def alarms(case, curves):
    return {f.slug for f in run_detectors(case(curves)).findings if f.severity != "info"}


def noisy(values, scale, seed=0):
    return np.asarray(values) + scale * np.random.default_rng(seed).normal(size=len(values))


X = np.linspace(0, 1, 60)
FALLING = 2.3 * np.exp(-4 * X) + 0.05


def test_a_score_that_falls_while_training_improves_is_overfitting(case):
    score = np.where(X < 0.5, 0.2 + 1.2 * X, 0.8 - 0.8 * (X - 0.5))
    assert "overfitting" in alarms(case, {"train/loss": noisy(FALLING, 0.01), "val/f1": noisy(score, 0.005)})
    kept = np.minimum(0.2 + 1.2 * X, 0.8)
    assert "overfitting" not in alarms(case, {"train/loss": noisy(FALLING, 0.01), "val/f1": noisy(kept, 0.005)})


def test_a_score_that_was_high_before_anything_was_learned_has_not_turned(case):
    recall = np.concatenate([[0.7], np.full(59, 0.2) + 0.1 * X[1:]])
    assert "overfitting" not in alarms(case, {"train/loss": noisy(FALLING, 0.01), "val/recall": noisy(recall, 0.005)})


@pytest.mark.parametrize(("level", "found"), [(0.45, True), (0.85, False)])
def test_training_by_heart_with_validation_far_below_is_overfitting(case, level, found):
    curves = {
        "train/loss": noisy(FALLING, 0.01),
        "train/acc1": 100 * (1 - 0.8 * np.exp(-8 * X)),
        "test/Acc@1": noisy(100 * (level - 0.3 * np.exp(-12 * X)), 0.3),
    }
    assert ("overfitting" in alarms(case, curves)) is found


def test_validation_accuracy_that_does_not_follow_is_found_without_a_validation_loss(case):
    train = 0.9 - 0.8 * np.exp(-5 * X)
    curves = {"train/loss": noisy(FALLING, 0.01), "train/acc": train, "val/acc": noisy(np.full(60, 0.2), 0.01)}
    assert "val-gap-from-start" in alarms(case, curves)
    assert "val-gap-from-start" not in alarms(case, {**curves, "val/acc": noisy(train - 0.05, 0.01)})


def test_two_points_far_above_start_and_end_are_a_burst(case):
    loss = noisy(FALLING, 0.01)
    assert "loss-spike" not in alarms(case, {"train/loss": loss})
    loss[3:5] = (4000.0, 300.0)
    assert "loss-spike" in alarms(case, {"train/loss": loss})


def test_validation_that_stays_worse_after_training_jumped_is_a_data_shift(case):
    train = noisy(np.where(X < 0.5, 2.5 * np.exp(-6 * X) + 0.8, 0.9 + 1.5 * np.exp(-12 * (X - 0.5))), 0.01)
    val = np.array([2.4, 1.7, 1.5, 1.4, 1.3, 1.25, 3.0, 4.2, 5.0, 5.2, 5.3, 5.3])
    steps = np.arange(4, 60, 5)[: len(val)]
    assert "data-shift" in alarms(case, {"train/loss": train, "val/loss": (steps, val)})
    calm = np.minimum.accumulate(val)
    assert "data-shift" not in alarms(case, {"train/loss": noisy(FALLING, 0.01), "val/loss": (steps, calm)})


def test_a_loss_that_crawls_down_a_straight_line_is_flat(case):
    assert "loss-flat" in alarms(case, {"train/loss": np.linspace(0.7, 0.698, 60)})
    assert "loss-flat" not in alarms(case, {"train/loss": FALLING})


def test_an_area_under_the_curve_of_one_half_is_chance(case):
    curves = {"train/loss": noisy(FALLING, 0.01)}
    assert "eval-at-chance" in alarms(case, {**curves, "val/auc": noisy(np.full(60, 0.49), 0.01)})
    assert "eval-at-chance" not in alarms(case, {**curves, "val/auc": noisy(0.9 - 0.4 * np.exp(-6 * X), 0.01)})


@pytest.mark.parametrize(("slow", "found"), [(120.0, True), (22.0, False)])
def test_epochs_that_take_several_times_as_long_are_a_drop(case, slow, found):
    curves = {"train/loss": FALLING, "epoch_time": noisy(np.where(X < 0.3, 11.0, slow), 0.3)}
    assert ("throughput-drop" in alarms(case, curves)) is found


def test_waits_at_the_first_batch_of_an_epoch_are_not_a_stall(case):
    every = {"train/loss": FALLING, "time": noisy(np.full(60, 4.3), 0.05), "data": noisy(np.full(60, 2.8), 0.05)}
    assert "data-stall" in alarms(case, every)
    first = np.arange(60) % 2 == 0
    some = {"train/loss": FALLING, "time": np.where(first, 2.2, 0.66), "data": np.where(first, 1.5, 0.001)}
    assert "data-stall" not in alarms(case, some)


def test_a_clock_is_not_a_duration(case):
    assert case({"train/loss": FALLING, "time": np.arange(60) * 3.0 + 1}).one("time.interval") is None
