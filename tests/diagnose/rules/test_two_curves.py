"""What training and validation say together: small changes that both show, and rises that one of them excuses."""

import numpy as np
import pytest

from pulseboard.diagnose.detector import run_detectors
from pulseboard.diagnose.facts.setback import setback

T = np.linspace(0, 1, 20)
X = np.linspace(0, 1, 200)


def findings(case, curves):
    return {f.slug: f.severity for f in run_detectors(case(curves)).findings}


def alarms(case, curves):
    return {slug for slug, severity in findings(case, curves).items() if severity != "info"}


def noisy(values, scale, seed=0):
    return np.asarray(values, float) + scale * np.random.default_rng(seed).normal(size=len(values))


def both(training, validation, **more):
    """A training loss of 200 steps and a validation loss of 20 evaluations."""
    return {"train/loss": noisy(training, 0.02), "val/loss": ((T * 199).astype(int), noisy(validation, 0.003)), **more}


def falls(x, speed=4.0):
    return 1.5 * np.exp(-speed * x) + 0.5


# ---- a setback


def hump(x, height=1.2, at=0.5, width=0.06):
    return falls(x) + height * np.exp(-(((x - at) / width) ** 2))


def test_a_setback_that_both_curves_show_is_a_warning(case):
    assert "loss-spike" in alarms(case, both(hump(X), hump(T)))


def test_a_setback_is_not_reported_where_training_does_not_show_it(case):
    assert "loss-spike" not in alarms(case, both(falls(X), hump(T)))


def test_a_learning_rate_that_rises_explains_a_setback(case):
    restarted = np.where(X < 0.45, np.cos(X / 0.45 * np.pi / 2) + 0.01, np.cos((X - 0.45) / 0.55 * np.pi / 2) + 0.01)
    assert setback(case(both(hump(X), hump(T), lr=1e-3 * restarted))).value is None
    assert setback(case(both(hump(X), hump(T), lr=np.full(200, 1e-3)))).value is not None


def test_setbacks_that_come_again_and_again_are_a_schedule_if_no_rate_is_logged(case):
    def twice(x):
        return hump(x, at=0.35) + hump(x, at=0.7) - falls(x)

    assert setback(case(both(twice(X), twice(T)))).value is None
    assert setback(case(both(twice(X), twice(T), lr=np.full(200, 1e-3)))).value is not None


# ---- a loss far above its start


def test_a_loss_that_is_above_its_start_for_long_is_a_warning(case):
    wild = np.where(X < 0.5, 2 + 3 * np.sin(np.pi * X / 0.5), 2 - 1.8 * (X - 0.5) / 0.5)
    assert "loss-spike" in alarms(case, {"train/loss": noisy(wild, 0.1)})


def test_a_loss_that_the_first_update_blows_up_is_a_warning(case):
    wild = np.concatenate([[1.2], 40 * np.exp(-6 * X[1:]) + 0.4])
    assert "loss-spike" in alarms(case, {"train/loss": noisy(wild, 0.02)})


def test_a_bump_during_warm_up_is_not(case):
    bump = np.where(X < 0.08, 2 + 2 * X / 0.08, 4 * np.exp(-6 * (X - 0.08)) + 0.3)
    assert not alarms(case, {"train/loss": noisy(bump, 0.05)})


# ---- both rise


def test_both_losses_that_rise_by_a_little_are_a_warning_from_a_few_points_on(case):
    t = np.linspace(0, 1, 14)
    turns = 1.2 + 0.9 * np.exp(-8 * t) + 0.25 * np.maximum(0, t - 0.5)
    curves = {"train/loss": noisy(turns, 0.003), "val/loss": noisy(turns + 0.02, 0.003, seed=1)}
    assert "loss-drift-up" in alarms(case, curves)
    # An accuracy that holds says that the answers are as good as before.
    curves["val/accuracy"] = noisy(0.7 - 0.4 * np.exp(-8 * t), 0.003)
    assert findings(case, curves)["loss-drift-up"] == "info"
    curves["val/loss"] = noisy(1.2 + 0.9 * np.exp(-8 * t), 0.003)
    assert "loss-drift-up" not in findings(case, curves)


@pytest.mark.parametrize(
    ("validation", "severity"), [(falls(T), "info"), (falls(T) + np.maximum(0, T - 0.4), "warning")]
)
def test_a_training_loss_that_rises_is_info_while_validation_holds(case, validation, severity):
    harder = falls(X, 8) + 0.5 * np.maximum(0, X - 0.4)
    found = findings(case, both(harder, validation))
    assert found.get("loss-drift-up", found.get("loss-diverged")) == severity


# ---- one jumps, the other stays


def test_evaluations_that_lose_what_they_had_gained_at_once_are_found_however_small_that_is(case):
    steps = (T * 199).astype(int)
    curves = {
        "train/loss": noisy(np.where(X < 0.5, 70 - 3 * X / 0.5, 69.7), 0.1),
        "val/loss": (steps, noisy(np.where(T < 0.5, 70 - 3 * T / 0.5, 69.6), 0.02)),
    }
    assert "data-shift" in alarms(case, curves)
    curves["val/loss"] = (steps, noisy(70 - 3 * np.minimum(T, 0.5) / 0.5, 0.02))
    assert "data-shift" not in alarms(case, curves)


def test_a_few_epochs_with_a_jump_are_enough(case):
    training = [0.63, 0.33, 0.21, 0.21, 0.22, 0.19, 2.1, 1.2, 0.66, 0.66]
    validation = [0.50, 0.23, 0.21, 0.21, 0.20, 0.196, 0.26, 0.29, 0.28, 0.31]
    assert "data-shift" in alarms(case, {"loss": training, "val_loss": validation})
    assert not alarms(
        case, {"loss": [*training[:6], 0.2, 0.19, 0.185, 0.18], "val_loss": [*validation[:6], 0.2, 0.19, 0.19, 0.19]}
    )


def test_evaluations_that_jump_and_stay_up_while_training_goes_on_are_overfitting(case):
    training = np.geomspace(0.8, 0.27, 16)
    curves = {"loss": training, "val/loss": (np.arange(1, 16, 2), [0.45, 0.38, 0.36, 3.2, 2.8, 2.6, 2.55, 2.53])}
    assert "overfitting" in alarms(case, curves)


def test_overfitting_from_the_first_evaluation_on_is_found_in_a_noisy_training(case):
    curves = {"loss/train": noisy(2.0 - 0.9 * X, 0.25), "loss/val": ((T * 199).astype(int), 1.5 + 0.55 * T)}
    assert "overfitting" in alarms(case, curves)


def test_a_validation_loss_far_above_training_counts_where_only_its_accuracy_holds(case):
    steps = (T * 199).astype(int)
    curves = {
        "train/loss": noisy(2 * np.exp(-5 * X) + 0.05, 0.01),
        "val/loss": (steps, 1.4 + 0.6 * np.exp(-12 * T) + 0.2 * np.maximum(0, T - 0.3)),
        "val/accuracy": (steps, noisy(0.52 - 0.35 * np.exp(-12 * T), 0.002)),
    }
    assert "overfitting" in alarms(case, curves)
    curves["train/loss"] = noisy(2 * np.exp(-5 * X) + 0.9, 0.01)
    assert findings(case, curves)["overfitting"] == "info"


# ---- validation stands still


def test_validation_that_stays_where_training_began_is_found_however_small_the_gain(case):
    steps = (T * 199).astype(int)
    curves = {"train/loss": noisy(70 - 3.8 * X, 0.1), "val/loss": (steps, noisy(np.full(20, 70.1), 0.05))}
    assert alarms(case, curves) == {"val-gap-from-start"}
    curves["val/loss"] = (steps, noisy(70.1 - 3.5 * T, 0.05))
    assert not alarms(case, curves)


def test_accuracies_that_are_close_excuse_a_validation_loss_only_if_one_follows_the_other(case):
    steps = (T * 199).astype(int)
    curves = {
        "train/loss": noisy(1.15 * np.exp(-6 * X) + 0.45, 0.02),
        "val/loss": (steps, 1.55 - 0.12 * T),
        "train/acc": noisy(0.98 - 0.4 * np.exp(-6 * X), 0.01),
        "val/acc": (steps, noisy(0.76 + 0.05 * T, 0.002)),
    }
    assert "val-gap-from-start" in alarms(case, curves)
    curves["val/acc"] = (steps, noisy(0.95 - 0.4 * np.exp(-6 * T), 0.002))
    assert "val-gap-from-start" not in alarms(case, curves)


def test_a_restart_of_the_learning_rate_is_not_a_change_of_the_data(case):
    steps = (T * 199).astype(int)
    jumps = both(falls(X) + 0.6 * (X > 0.5), falls(T) + 0.3 * (T > 0.5))
    jumps["val/loss"] = (steps, jumps["val/loss"][1])
    assert "data-shift" in alarms(case, jumps)
    restarted = 1e-3 * np.where(X < 0.49, 1 - X / 0.5, 1 - (X - 0.49) / 0.51)
    assert "data-shift" not in alarms(case, {**jumps, "lr": restarted})


def test_an_accuracy_of_one_contradicts_an_f1_of_zero(case):
    perfect = {"train_loss": np.full(10, 0.69), "val_accuracy": np.ones(10)}
    finding = {f.slug: f for f in run_detectors(case(perfect | {"val_f1": np.zeros(10)})).findings}[
        "metric-disagreement"
    ]
    assert finding.severity == "warning"
    assert "no positive examples" in finding.summary
    rising = {"val_accuracy": np.linspace(0.9, 1, 10), "val_f1": np.zeros(10)}
    assert "metric-disagreement" not in alarms(case, rising)
    assert "metric-disagreement" not in alarms(case, perfect | {"val_f1": np.linspace(0, 1, 10)})


@pytest.mark.parametrize(("training", "is_memorized"), [(0.87, True), (0.75, False)])
def test_a_very_wide_gap_needs_no_perfect_training_accuracy(case, training, is_memorized):
    rng = np.random.default_rng(2)
    curves = {
        "train_acc": training - 0.6 * np.exp(-np.arange(24) / 3),
        "val_acc": 0.32 + 0.03 * rng.normal(size=24),
        "train_loss": 1.6 * np.exp(-np.arange(24) / 6),
    }
    assert ("overfitting" in alarms(case, curves)) is is_memorized


def test_a_gan_whose_cycle_loss_stands_still_too_has_learned_nothing(case):
    rng = np.random.default_rng(4)
    balanced = {"D_loss": 0.51 + 0.004 * rng.normal(size=24), "G_loss": 5.8 + 0.04 * rng.normal(size=24)}
    cycle = 5.3 + 0.04 * rng.normal(size=24)
    assert "loss-flat" in alarms(case, balanced | {"cycle_loss": cycle})
    assert "loss-flat" not in alarms(case, balanced | {"cycle_loss": cycle + 2 * np.exp(-np.arange(24) / 5)})
    assert "loss-flat" not in alarms(case, balanced)
