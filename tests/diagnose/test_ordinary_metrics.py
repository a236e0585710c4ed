"""Faults that show only in losses, scores and times, and the near misses that must stay quiet."""

import numpy as np
import pytest

from pulseboard.diagnose.detector import run_detectors
from pulseboard.diagnose.facts.objective import objective


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


# ---- few points, noise, and losses under several names


def test_a_loss_that_stays_above_its_start_has_diverged_even_if_it_is_short(case):
    assert "loss-diverged" in alarms(case, {"loss": [12.5, 10.7, 14.7, 21, 26, 17.4, 18, 17.1, 16, 20.5]})
    assert "loss-diverged" not in alarms(case, {"loss": [12.5, 10.7, 13.7, 14, 12.8, 13.4, 12.9, 13.1, 14, 13.5]})


def test_points_above_the_first_loss_after_it_had_fallen_are_counted(case):
    loss = noisy(3 + 5 * np.exp(-np.arange(220) / 8), 0.3)
    again = loss.copy()
    again[80:100] += 10 * np.exp(-np.arange(20) / 14)
    assert "loss-spike" in alarms(case, {"loss": again})
    assert not alarms(case, {"loss": loss})


def test_spikes_that_keep_coming_back_are_reported_even_if_each_is_small(case):
    loss = noisy(100 * np.exp(-np.arange(80) / 40) + 20, 0.3)
    spiky = loss.copy()
    for at in (25, 38, 50, 61, 70):
        spiky[at : at + 2] *= [1.6, 1.4]
    assert "loss-spike" in alarms(case, {"loss": spiky})
    spiky = loss.copy()
    spiky[38:40] *= 1.6
    assert "loss-spike" not in alarms(case, {"loss": spiky})


def test_the_part_of_a_loss_that_is_the_sum_of_the_others_is_the_loss(case):
    a, b = noisy(3 * np.exp(-3 * X), 0.01), noisy(np.exp(-2 * X), 0.01)
    found = run_detectors(built := case({"loss_cls": a, "loss_box": b, "loss_mix": a + b}))
    assert not [f for f in found.findings if f.severity != "info"]
    assert str(built.facts["objective"].value) == "loss_mix"
    assert "the sum of" in str(objective(case({"loss_cls": a, "loss_box": b, "loss_mix": a + 2 * b})).value)


def test_validation_alone_shows_that_nothing_was_learned(case):
    still, falls = noisy(np.full(30, 0.56), 0.004), noisy(0.5 + 0.2 * np.exp(-np.arange(30) / 8), 0.004)
    assert "loss-flat" in alarms(case, {"val_loss": still})
    assert "loss-flat" not in alarms(case, {"val_loss": falls})
    assert "loss-flat" not in alarms(case, {"val_loss": still[:12]})


def test_validation_that_stands_still_decides_where_training_is_too_noisy_to_tell(case):
    noise = noisy(0.2 - 0.02 * X, 0.02)
    at = (np.arange(1, 7) * 9, noisy(np.full(6, 0.15), 0.0003))
    assert "loss-flat" in alarms(case, {"train_loss": noise, "val_loss": at})
    better = (at[0], 0.15 - 0.01 * np.arange(6))
    assert "loss-flat" not in alarms(case, {"train_loss": noise, "val_loss": better})


def test_a_loss_that_is_logged_twice_starts_at_the_first_value_of_either(case):
    steps = np.arange(1, 400)
    stuck = noisy(np.full(399, 3.3), 0.03)
    evaluated = (np.arange(0, 400, 20), np.concatenate([[4.25], np.full(19, 3.3)]))
    assert "loss-plateau" in alarms(case, {"train/step_loss": (steps, stuck), "train/loss": evaluated})
    good = (evaluated[0], np.full(20, 3.3))
    assert "loss-plateau" not in alarms(case, {"train/step_loss": (steps, stuck), "train/loss": good})


def test_validation_that_was_best_at_its_first_evaluation_is_overfitting_with_few_of_them(case):
    train = noisy(0.2 + 0.18 * np.exp(-3 * np.linspace(0, 1, 120)), 0.004)
    at = np.array([30, 60, 90, 119])
    assert "overfitting" in alarms(case, {"train_loss": train, "val_loss": (at, [0.341, 0.363, 0.364, 0.36])})
    assert "overfitting" not in alarms(case, {"train_loss": train, "val_loss": (at, [0.341, 0.345, 0.347, 0.344])})


def test_validation_that_stays_far_above_its_best_is_overfitting_however_noisy(case):
    rng = np.random.default_rng(3)
    later = 0.95 + np.abs(rng.normal(size=48)) * 0.25
    val = np.concatenate([0.68 + 0.02 * rng.normal(size=12), later])
    assert "overfitting" in alarms(case, {"train/loss": noisy(FALLING, 0.01), "val/loss": val})
    val = 0.9 + 0.15 * rng.normal(size=60)
    assert "overfitting" not in alarms(case, {"train/loss": noisy(FALLING, 0.01), "val/loss": val})


def test_a_score_without_a_split_that_is_logged_at_evaluations_is_a_validation_score(case):
    every, at = np.arange(400), np.arange(4, 400, 10)
    x = np.linspace(0, 1, 400)
    curves = {
        "Loss": (every, noisy(2 * np.exp(-3 * x) + 0.3, 0.02)),
        "val/Loss": (at, noisy(0.9 + 0.12 * x[at], 0.005)),
        "MeanIU": (at, noisy(0.3 + 0.4 * x[at], 0.005)),
    }
    assert case(curves).reading.tags["val.accuracy"] == ("MeanIU",)
    assert "overfitting" not in alarms(case, curves)


def test_a_learning_rate_that_is_cut_while_the_loss_falls_is_reported(case):
    steps = np.arange(0, 400, 2)
    rate = np.where(steps < 110, 1e-3, 5e-5)
    falls = np.where(steps < 110, 2.2 - 0.007 * steps, 1.43)
    assert "lr-horizon-off" in alarms(case, {"train/loss": (steps, noisy(falls, 0.02)), "lr": (steps, rate)})
    # A plateau, and a drop at the cut: that is what cuts are for.
    healthy = np.where(steps < 110, 1.3 + 0.9 * np.exp(-steps / 20), 1.0 + 0.1 * np.exp(-(steps - 110) / 30))
    assert "lr-horizon-off" not in alarms(case, {"train/loss": (steps, noisy(healthy, 0.02)), "lr": (steps, rate)})


# ---- language models, recognized by a perplexity


def spoken(train, val):
    at = np.arange(len(val)) * (len(train) // len(val))
    val = np.asarray(val)
    return {"Loss/train": train, "Loss/valid": (at, val), "Perplexity/valid": (at, np.exp(val))}


def test_a_first_loss_beyond_any_vocabulary_is_off_if_a_perplexity_shows_what_it_is(case):
    train = noisy(6 + 13.5 * np.exp(-2 * X), 0.05)
    curves = spoken(train, 5 + 11 * np.exp(-np.arange(10) / 4))
    assert "initial-loss-off" in alarms(case, curves)
    del curves["Perplexity/valid"]
    assert "initial-loss-off" not in alarms(case, curves)
    assert "initial-loss-off" not in alarms(case, spoken(noisy(1.2 + 3 * np.exp(-6 * X), 0.02), [1.8, 1.4, 1.2, 1.2]))


def test_words_that_are_predicted_without_fail_were_known_in_advance(case):
    leak = 4 * np.exp(-9 * X) + 0.002
    assert "loss-too-good" in alarms(case, spoken(leak, [0.1, 0.02, 0.01, 0.005, 0.002]))
    # By heart: the training loss alone is low.
    assert "loss-too-good" not in alarms(case, spoken(leak, [2.1, 2.0, 2.2, 2.4, 2.6]))


def test_a_loss_that_falls_a_little_and_faster_and_faster_has_hardly_begun(case):
    x = np.linspace(0, 1, 80)
    assert "loss-flat" in alarms(case, {"loss": noisy(4.8 - 0.15 * x - 0.35 * x**3, 0.01)})
    assert "loss-flat" not in alarms(case, {"loss": noisy(4.8 - 0.5 * (1 - np.exp(-4 * x)), 0.01)})
    assert "loss-flat" not in alarms(case, {"loss": noisy(4.8 - 0.4 * x - 2 * x**3, 0.01)})


def test_an_accuracy_that_no_longer_changes_at_all_is_that_of_one_answer(case):
    falls = 2.7 + 1.6 * np.exp(-np.arange(12) / 1.5)
    stuck = [0.12, 0.142, 0.101, 0.1825, *[0.1818] * 8]
    assert "eval-at-chance" in alarms(case, {"train/loss": falls, "eval/accuracy": stuck})
    moves = [0.12, 0.142, 0.19, 0.2, 0.21, 0.213, 0.22, 0.225, 0.228, 0.229, 0.231, 0.233]
    assert "eval-at-chance" not in alarms(case, {"train/loss": falls, "eval/accuracy": moves})


def test_a_training_loss_of_almost_nothing_with_most_answers_wrong_is_a_gap(case):
    train = 2.1 * np.exp(-6 * X) + 0.01
    val, low = noisy(2.1 - 0.1 * (1 - np.exp(-20 * X)), 0.002), noisy(0.34 - 0.17 * np.exp(-15 * X), 0.002)
    assert "val-gap-from-start" in alarms(case, {"train/loss": train, "val/loss": val, "val/acc": low})
    assert "val-gap-from-start" not in alarms(case, {"train/loss": train, "val/loss": val, "val/acc": low + 0.4})


def test_a_step_up_in_the_middle_of_a_noisy_loss_is_a_divergence(case):
    x = np.linspace(0, 1, 64)
    stepped = noisy(np.where(x < 0.5, 0.85 - 0.75 * x, 1.9 - 0.8 * (x - 0.5)), 0.08)
    assert "loss-diverged" in alarms(case, {"loss": stepped})
    assert "loss-diverged" not in alarms(case, {"loss": noisy(np.where(x < 0.5, 0.85 - 0.75 * x, 0.55), 0.08)})
