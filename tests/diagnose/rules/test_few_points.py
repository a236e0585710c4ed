"""Rules for few points and for ordinary logs, each with its nearest healthy neighbor."""

import numpy as np
import pytest

import pulseboard as pb
from pulseboard.diagnose.detector import run_detectors
from pulseboard.diagnose.facts.learning import learning
from pulseboard.diagnose.facts.scores import choices

X = np.linspace(0, 1, 60)


def alarms(case, curves):
    return {f.slug for f in run_detectors(case(curves)).findings if f.severity != "info"}


def noisy(values, scale, seed=0):
    return np.asarray(values, float) + scale * np.random.default_rng(seed).normal(size=len(values))


# ---- learning rates


def test_a_rate_that_jumps_far_beyond_its_peak_needs_only_a_few_points(case):
    assert "lr-jump" in alarms(case, {"lr": [9e-4, 8e-4, 7e-4, 6e-4, 5e-4, 3e-3, 3e-3, 3e-3]})
    assert "lr-jump" not in alarms(case, {"lr": [9e-4, 8e-4, 7e-4, 6e-4, 5e-4, 9e-4, 8e-4, 7e-4]})


def test_a_warm_restart_is_part_of_the_schedule(case):
    cycle = 0.5 + 0.5 * np.cos(np.pi * np.linspace(0, 1, 40))
    assert "lr-jump" not in alarms(case, {"lr": 5e-3 * np.concatenate([cycle, cycle])})
    assert "lr-jump" in alarms(case, {"lr": 5e-3 * np.concatenate([cycle[:25], cycle])})


# ---- returns


def test_a_few_returns_show_a_collapse(case):
    rises = [-0.5, 2.3, 3.9, 4.2, 4.3, 4.3]
    assert "return-collapsed" in alarms(case, {"episode_return": [*rises, -3, -3, -3, -3]})
    assert not alarms(case, {"episode_return": [*rises, 4.4, 4.3, 3.8, 4.2]})
    assert not alarms(case, {"episode_return": [*rises, 4.4, 4.3, 1.0, 0.8]})


def test_few_returns_without_a_trend_rarely_look_like_a_collapse(case):
    rng = np.random.default_rng(1)
    flagged = sum(
        "return-collapsed" in alarms(case, {"episode_return": rng.normal(size=n)}) for n in [9, 12, 15, 19] * 75
    )
    assert flagged <= 3  # of 300


def test_a_return_that_is_at_its_lowest_to_the_end_has_not_learned(case):
    worst = np.where(np.arange(15) < 3, [-2.5, -1.6, -1.8, *[0] * 12], -2.5)
    assert "return-flat" in alarms(case, {"episode_return": worst})
    late = np.where(np.arange(40) < 24, -200.0, -200 + 10.0 * (np.arange(40) - 23))
    assert not alarms(case, {"episode_return": late})


def test_an_entropy_that_never_changes_leaves_a_noisy_return_flat(case):
    returns = noisy(np.full(15, -1.0), 0.7, seed=4)
    assert "return-flat" in alarms(case, {"return": returns, "entropy/train": np.full(15, 1.094)})
    assert not alarms(case, {"return": returns, "entropy/train": np.linspace(1.09, 0.4, 15)})


# ---- scores


@pytest.mark.parametrize("tag", ["metrics/mAP50(B)", "val_mean_io_u"])
def test_a_model_that_finds_nothing_is_at_chance(case, tag):
    loss = {"loss": np.geomspace(2, 1, 12), "val_loss": np.geomspace(2, 1, 12)}
    tag = tag if tag.startswith("val") else f"val/{tag}"
    assert "eval-at-chance" in alarms(case, {**loss, tag: [0.06, *[0.003] * 11]})
    assert not alarms(case, {**loss, tag: [0.0, 0.0, 0.0, 0.01, 0.02, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08]})


def test_an_accuracy_that_rose_before_the_first_evaluation_is_not_at_chance(case):
    steps = np.arange(16, 200, 16)
    evaluations = (steps, noisy(np.full(len(steps), 0.475), 0.004))
    assert "eval-at-chance" in alarms(case, {"val/acc": evaluations})
    rising = noisy(0.475 - 0.22 * np.exp(-np.arange(200) / 6), 0.02)
    assert "eval-at-chance" not in alarms(case, {"val/acc": evaluations, "acc": rising})


def test_the_accuracy_of_single_examples_does_not_count_where_evaluations_improve(case):
    one = (np.random.default_rng(2).random(200) < 0.25).astype(float)
    evaluations = (np.arange(30, 200, 33), [0.22, 0.26, 0.3, 0.35, 0.38, 0.4])
    assert "eval-at-chance" in alarms(case, {"train/accuracy": one})
    assert "eval-at-chance" not in alarms(case, {"train/accuracy": one, "val/accuracy": evaluations})


def test_the_number_of_choices_comes_from_an_accuracy_that_is_exactly_one_of_it(case):
    curves = {"train/loss": noisy(np.full(60, 2.77), 0.01), "train/acc": np.full(60, 0.0625)}
    curves["train/loss"][0] = 2.834  # the logarithm of 17
    assert choices(case(curves)).value == 16
    curves["train/loss"] = noisy(np.full(60, 2.77), 0.6)
    assert choices(case(curves)).value is None


# ---- losses


def test_high_points_that_keep_coming_are_spikes_even_if_some_are_single(case):
    loss = noisy(1.3 * np.exp(-8 * X) + 0.65, 0.02)
    loss[[30, 31]], loss[[38, 46, 58]] = 1.9, [2.3, 2.1, 2.2]
    assert "loss-spike" in alarms(case, {"train/loss": loss})
    loss[[38, 46, 58]] = 0.66
    assert "loss-spike" not in alarms(case, {"train/loss": loss})


def test_a_loss_that_falls_in_a_straight_line_to_a_poor_accuracy_has_hardly_begun(case):
    steps = np.arange(0, 60, 7)
    curves = {
        "train/loss": noisy(3.3 - 0.3 * X, 0.03),
        "val/loss": (steps, 3.25 - 0.3 * X[steps]),
        "val/acc": (steps, 0.05 + 0.05 * X[steps]),
    }
    assert "loss-flat" in alarms(case, curves)
    curves["val/acc"] = (steps, 0.5 + 0.05 * X[steps])
    assert "loss-flat" not in alarms(case, curves)


def test_a_model_that_is_good_from_the_start_has_little_to_learn(case):
    steps = np.arange(0, 60, 6)
    curves = {"train/loss": noisy(np.full(60, 0.5), 0.02), "val/loss": (steps, noisy(np.full(10, 0.5), 0.003))}
    assert "loss-flat" in alarms(case, curves)
    assert "loss-flat" not in alarms(case, {**curves, "val/accuracy": (steps, noisy(np.full(10, 0.85), 0.003))})
    # The accuracy of a part says nothing about the rest.
    assert "loss-flat" in alarms(case, {**curves, "val/domain_acc": (steps, noisy(np.full(10, 0.97), 0.003))})


def test_a_loss_that_came_down_to_its_last_decimal_is_not_lost(tmp_path):
    def slugs(values):
        (tmp_path / "train.log").write_text("".join(f"epoch {i} loss: {v:.4f}\n" for i, v in enumerate(values)))
        (report,) = pb.diagnose(tmp_path / "train.log")
        return {finding.slug for finding in report.findings}

    assert "loss-zero" not in slugs([0.0031, 0.0012, 0.0006, 0.0002, 0.0001, *[0.0] * 9])
    assert "loss-zero" in slugs([2.3031, 2.1012, 1.9006, 1.8002, 1.7001, *[0.0] * 9])


def test_a_plateau_where_an_area_under_the_curve_rose_is_what_there_is_to_learn(case):
    steps = np.linspace(0, 399, 16).astype(int)
    x = np.linspace(0, 1, 400)
    curves = {
        "train/loss": noisy(0.45 + 0.15 * np.exp(-40 * x), 0.01),
        "val/loss": (steps, noisy(0.455 + 0.1 * np.exp(-40 * steps / 399), 0.003)),
        "val/auc": (steps, noisy(np.full(16, 0.62), 0.002)),
    }
    assert "loss-plateau" in alarms(case, curves)
    curves["val/auc"] = (steps, noisy(0.78 - 0.25 * np.exp(-5 * steps / 399), 0.002))
    assert "loss-plateau" not in alarms(case, curves)


def test_a_clear_fall_counts_as_learning_with_few_points_and_with_noisy_ones(case):
    few = [70.2, 69.5, 68.9, 67.8, 66.6, 66.57, 66.53, 66.44, 66.39, 66.37, 66.43, 66.4, 66.41, 66.38, 66.4]
    assert learning(case({"train/loss": few})).value is True
    slow = noisy(1.1 - 0.1 * (1 - np.exp(-np.arange(200) / 25)), 0.04, seed=3)
    assert learning(case({"train/loss": slow, "val/loss": (np.arange(16, 200, 16), np.full(12, 1.016))})).value is True
    assert learning(case({"train/loss": noisy(np.full(200, 1.1), 0.04)})).value is False
