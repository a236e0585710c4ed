"""Rules for logs that look unlike our own, each with its nearest neighbor."""

import numpy as np
import pytest

from pulseboard.diagnose.detector import run_detectors
from pulseboard.diagnose.quote import quote
from pulseboard.diagnose.stats.course import course
from pulseboard.diagnose.track import Points

X = np.linspace(0, 1, 60)


def found(case, curves, **more):
    return {f.slug: f for f in run_detectors(case(curves, **more)).findings}


def alarms(case, curves, **more):
    return {slug for slug, finding in found(case, curves, **more).items() if finding.severity != "info"}


def noisy(values, scale, seed=0):
    return np.asarray(values, float) + scale * np.random.default_rng(seed).normal(size=len(values))


FALLING = noisy(2.3 * np.exp(-4 * X) + 0.2, 0.01)


# ---- values in sentences


def test_a_few_evaluations_are_quoted_as_they_were_logged():
    values = np.array([2.0, 1.6, 1.3, 1.21, 1.0, 1.19, 1.3, 1.4, 1.5, 1.55, 1.6, 1.7, 1.8, 1.9])
    points = Points(np.arange(14) * 10, values)
    said = quote(points, course(points))
    assert (said.start, said.best, said.best_step, said.end, said.text(said.best)) == (2.0, 1.0, 40, 1.9, "1")


def test_of_many_points_the_level_is_quoted_and_said_to_be_about_that():
    values = noisy(2 * np.exp(-4 * np.linspace(0, 1, 400)), 0.05)
    points = Points(np.arange(400), values)
    said = quote(points, course(points))
    assert said.text(said.end).startswith("about ")
    assert said.end != values[-1]


# ---- what jumps


def test_losses_of_single_batches_that_differ_tenfold_do_not_spike(case):
    wide = np.exp(np.random.default_rng(3).normal(-4, 1.2, size=300))
    assert "loss-spike" not in alarms(case, {"train_loss": wide, "val_loss": ([99, 199, 299], [0.07, 0.05, 0.04])})
    spiky = np.exp(noisy(np.full(300, -1.0), 0.05))
    spiky[[150, 151, 152, 153, 154, 155, 200, 201, 202, 250, 251, 252]] = 4.0
    assert "loss-spike" in alarms(case, {"train_loss": spiky})


def test_a_jump_at_a_resume_is_about_the_resume(case):
    losses = np.concatenate([noisy(0.3 * np.exp(-4 * X) + 0.12, 0.003), noisy(np.full(60, 0.66), 0.01)])
    parts = noisy(np.full(120, 0.04), 0.001)
    both = {"loss": losses, "loss_wave": parts}
    assert alarms(case, both, restarts=[60]) >= {"resume-discontinuity"}
    finding = found(case, both, restarts=[60])["resume-discontinuity"]
    assert finding.severity == "warning"
    assert "computed differently" in finding.summary
    moved = {"loss": losses, "loss_wave": losses / 3}
    assert found(case, moved, restarts=[60])["resume-discontinuity"].severity == "critical"


def test_a_game_that_is_won_or_lost_has_not_collapsed_while_its_mean_holds(case):
    rng = np.random.default_rng(1)
    games = np.where(rng.random(240) < np.linspace(0.1, 0.5, 240), 17.0, -10.0)
    games[140:170], games[-16:] = np.where(rng.random(30) < 0.6, 17.0, -10.0), np.tile([17.0, -10.0, -10.0, 7.0], 4)
    assert "return-collapsed" not in alarms(case, {"reward": games, "epsilon": np.linspace(1, 0.05, 240)})
    lost = noisy(np.concatenate([np.linspace(-10, 17, 120), np.full(60, 17.0), np.full(60, -9.0)]), 1.5)
    assert "return-collapsed" in alarms(case, {"reward": lost})


def test_a_critic_of_sparse_rewards_is_not_running_away(case):
    losses = np.exp(np.random.default_rng(0).normal(0, 2.2, size=24))
    losses[1:3] = 0.02, 0.015
    curves = {"train/value_loss": losses, "rollout/ep_rew_mean": noisy(np.full(24, 0.5), 0.2)}
    assert "value-diverged" not in alarms(case, curves)
    curves["train/value_loss"] = 0.02 * 10 ** np.linspace(0, 4, 24)
    assert "value-diverged" in alarms(case, curves)


# ---- what stands still


def test_a_part_of_a_longer_training_is_not_said_to_learn_nothing(case):
    losses = noisy(np.full(60, 3.42), 0.03)
    assert "loss-flat" not in alarms(case, {"loss": (310_000 + 50 * np.arange(60), losses)})
    assert "loss-flat" in alarms(case, {"loss": losses})


def test_all_losses_that_crawl_along_a_straight_line_are_found(case):
    steps = (np.linspace(0, 1, 8) * 59).astype(int)
    curves = {"loss": noisy(2.39 - 0.06 * X, 0.012), "val_loss": (steps, 2.39 - 0.06 * steps / 59)}
    assert "loss-flat" in alarms(case, curves)
    bends = {**curves, "val_loss": (steps, 2.33 + 0.06 * np.exp(-6 * steps / 59))}
    assert "loss-flat" not in alarms(case, bends)
    assert "loss-flat" not in alarms(case, {**curves, "lr": np.full(60, 1e-3)})


def test_a_loss_that_halves_near_zero_is_not_on_a_plateau(case):
    losses = np.concatenate([noisy(3 * np.exp(-12 * X[:20]) + 0.2, 0.01), np.linspace(0.2, 0.05, 40)])
    assert "loss-plateau" not in found(case, {"train/loss": noisy(losses, 0.005)})


def test_a_loss_that_blew_up_at_once_is_measured_from_its_first_value():
    values = np.concatenate([[1.4, 70.0, 40.0, 9.0], noisy(np.full(56, 1.7), 0.05)])
    assert course(Points(np.arange(60), values)).start == 1.4


# ---- scores


@pytest.mark.parametrize("tag", ["valid_cer", "eval/wer"])
def test_an_error_rate_of_a_hundred_percent_recognizes_nothing(case, tag):
    assert "eval-at-chance" in alarms(case, {"train_loss": FALLING, tag: (range(0, 60, 6), np.full(10, 1.0))})
    improving = np.linspace(1.0, 0.4, 10)
    assert "eval-at-chance" not in alarms(case, {"train_loss": FALLING, tag: (range(0, 60, 6), improving)})


def test_an_accuracy_of_zero_next_to_a_loss_that_falls_is_not_computed(case):
    assert found(case, {"loss": FALLING, "acc": np.zeros(60)})["eval-at-chance"].severity == "info"


def test_the_accuracy_of_a_regression_says_nothing(case):
    low = noisy(np.full(60, 0.17), 0.002)
    assert "eval-at-chance" in alarms(case, {"loss": FALLING, "accuracy": low})
    assert "eval-at-chance" not in alarms(case, {"loss": FALLING, "accuracy": low, "mae": FALLING / 3})


def test_recall_may_fall_while_precision_and_the_whole_rise(case):
    falls = np.where(X < 0.3, 0.2 + 2 * X, 0.8 - 0.6 * (X - 0.3))
    curves = {"train/loss": FALLING, "val/recall": noisy(falls, 0.005)}
    assert "overfitting" in alarms(case, curves)
    rising = noisy(0.8 - 0.7 * np.exp(-4 * X), 0.005)
    assert "overfitting" not in alarms(case, {**curves, "val/precision": rising, "val/mAP50": rising})


def test_an_error_of_the_result_that_doubles_is_worse_whatever_the_loss_says(case):
    error = np.where(X < 0.3, np.exp(-14 * X), np.exp(-4.2) * (1 + 60 * (X - 0.3)))
    assert "overfitting" in alarms(case, {"Loss": FALLING, "rel_l2_err": noisy(error, 1e-4)})
    assert "overfitting" not in alarms(case, {"Loss": FALLING, "rel_l2_err": noisy(np.exp(-4 * X), 1e-4)})


def test_a_score_that_never_changes_while_training_learns_is_frozen(case):
    steps = range(0, 60, 4)
    assert "eval-frozen" in alarms(case, {"train/loss": FALLING, "val/recall@1": (steps, np.full(15, 0.89))})
    assert "eval-frozen" not in alarms(case, {"train/loss": FALLING, "val/recall@1": (steps, np.full(15, 1.0))})


def test_the_score_of_a_game_is_a_return_where_a_policy_explores(case):
    curves = {"score": noisy(20 * X, 3), "epsilon": 1 - 0.9 * X, "loss": noisy(np.exp(2 * X), 0.1)}
    assert case(curves).reading.tags["rl.return"] == ("score",)
    assert "rl.return" not in case({"score": 0.5 + 0.4 * X, "loss": FALLING}).reading.tags
    assert not alarms(case, curves)


# ---- values


def test_a_margin_may_bring_a_loss_to_exactly_zero(case):
    hinge = np.maximum(0, noisy(0.6 * np.exp(-5 * X), 0.02))
    hinge[[35, 38, 41, 44, *range(48, 60)]] = 0.0
    assert "loss-zero" not in alarms(case, {"loss": hinge})
    lost = np.concatenate([FALLING[:40], np.zeros(20)])
    assert "loss-zero" in alarms(case, {"loss": lost})
    assert "loss-zero" not in alarms(case, {"triplet_loss": lost})
    assert "loss-zero" not in alarms(case, {"loss": np.concatenate([np.zeros(7), FALLING])})  # training begins later


def test_a_loss_without_a_bound_is_computed_wrongly(case):
    endless = -3e4 * 1.2 ** np.arange(60)
    assert "impossible-value" in alarms(case, {"loss": endless})
    assert "impossible-value" not in alarms(case, {"loss": -5 - 20 * X})  # a likelihood


def test_a_loss_beyond_every_whole_number_is_not_a_counter(case):
    huge = 2e33 * np.linspace(1, 7, 12)
    assert case({"loss": huge}).reading.tags["train.loss"] == ("loss",)
    assert "loss-diverged" in alarms(case, {"loss": huge})


def test_a_sum_that_is_only_logged_hurts_nobody(case):
    steps = np.arange(60)
    curves = {"train_loss": 16 * FALLING, "val_loss": (steps, noisy(FALLING, 0.01))}
    assert found(case, curves)["initial-loss-off"].severity == "info"


def test_epochs_that_take_longer_and_longer_are_found_with_few_of_them(case):
    growing = [0.42, 0.31, 0.31, 0.35, 0.45, 0.57, 0.7, 0.85, 1.0, 1.13]
    assert "throughput-drop" in alarms(case, {"Time/epoch_sec": growing, "Loss/train": FALLING[:10]})
    uneven = [0.42, 0.31, 0.5, 0.35, 0.45, 0.37, 0.7, 0.35, 0.6, 0.53]
    assert "throughput-drop" not in alarms(case, {"Time/epoch_sec": uneven, "Loss/train": FALLING[:10]})


def test_updates_that_are_mostly_clipped_are_too_large(case):
    curves = {"train/approx_kl": np.full(10, 0.07), "train/clip_fraction": np.full(10, 0.6)}
    assert "policy-update-too-large" in alarms(case, curves)
    curves["train/clip_fraction"] = np.full(10, 0.3)
    assert "policy-update-too-large" not in alarms(case, curves)


def test_evaluations_alone_that_stand_still_need_fewer_points(case):
    steps = range(0, 50, 5)
    assert "loss-flat" in alarms(case, {"val_loss": (steps, noisy(np.full(10, 1.05), 0.002))})
    assert "loss-flat" not in alarms(case, {"val_loss": (steps, noisy(1.05 - 0.1 * np.arange(10) / 9, 0.002))})


def test_an_early_score_that_no_later_one_reaches_is_worth_more_than_all_of_them(case):
    later = noisy(np.full(40, 0.18), 0.008)
    assert "overfitting" in alarms(case, {"train_loss": FALLING[:40], "val_f1": [0.27, 0.32, *later[2:]]})
    assert "overfitting" not in alarms(case, {"train_loss": FALLING[:40], "val_f1": [0.27, 0.12, *later[2:]]})


def test_codes_may_spread_while_reconstruction_gets_better(case):
    recon = noisy(1.8 * np.exp(-1.2 * X), 0.01)
    vq = noisy(0.03 + 1.8 * X**2 / (0.2 + X**2), 0.01)
    assert not alarms(case, {"loss": recon + vq, "recon": recon, "vq": vq})
    stuck = noisy(np.full(60, 1.8), 0.01)
    assert "loss-flat" in alarms(case, {"loss": stuck + 0.02, "recon": stuck, "vq": noisy(np.full(60, 0.02), 1e-4)})


def test_a_probe_that_is_nearly_perfect_excuses_the_accuracy_of_a_pretext_task(case):
    low = noisy(np.full(60, 0.45), 0.01)
    curves = {"loss": noisy(3.7 - 0.5 * (1 - np.exp(-20 * X)), 0.01), "acc/top1": low}
    assert "eval-at-chance" in alarms(case, curves)
    assert not alarms(case, {**curves, "kNN_accuracy": (range(0, 60, 6), np.full(10, 1.0))})


def test_a_validation_loss_of_several_times_its_first_value_counts_whatever_training_does(case):
    steps = range(0, 60, 4)
    curves = {"train_loss": noisy(0.8 + 0.3 * X, 0.02), "val_loss": (steps, np.linspace(1.0, 3.5, 15))}
    assert "overfitting" in alarms(case, curves)
    assert "overfitting" not in alarms(case, {**curves, "val_loss": (steps, np.linspace(1.0, 1.3, 15))})


@pytest.mark.parametrize(
    ("tag", "role"),
    [
        ("monitor/z_std", "collapse.std"),
        ("system/mem_gb", "memory.used"),
        ("words/s", "throughput"),
        ("eval/exact_match", "val.accuracy"),
    ],
)
def test_names_of_others_are_read(case, tag, role):
    assert tag in case({tag: 0.5 + 0.1 * X}).reading.tags[role]
