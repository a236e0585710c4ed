"""Curves against what the configuration says of the loss: its weights, its target, its scale."""

import pytest

from pulseboard.diagnose.detector import all_detectors, run_detectors
from pulseboard.diagnose.episodes import clear_of_noise
from pulseboard.diagnose.tape import case_from_tapes
from pulseboard.diagnose.track import Alarm


def found(slug, tapes, **config):
    """The findings of one detector."""
    return run_detectors(case_from_tapes(tapes, config=config), [all_detectors()[slug]]).findings


def severe_tags(slug, tapes, **config):
    return [one.metric for one in found(slug, tapes, **config) if one.severity != "info"]


# ---- weights of levels

LEVELS = {"train/loss/h0": "0.2x60~1%", "train/loss/h1": "0.02x60~1%", "train/loss/h2": "0.01x60~1%"}


def shares(*weights, split="train"):
    parts = [weight * loss for weight, loss in zip(weights, (0.2, 0.02, 0.01), strict=True)]
    return {f"{split}/loss/contribution_h{i}": f"{100 * part / sum(parts)}x60~1%" for i, part in enumerate(parts)}


@pytest.mark.parametrize(
    ("applied", "configured", "expected"),
    [
        ((1, 1, 100), [1, 1, 1], ["train/loss/contribution_h2"]),
        ((1, 1, 0.2), [1, 1, 1], ["train/loss/contribution_h2"]),
        ((1, 1, 1), [1, 1, 1], []),
        ((1, 2, 4), [1, 2, 4], []),
        ((10, 20, 40), [1, 2, 4], []),  # a factor that all share does not change the balance
        ((1, 1, 1), [1, 2, 4], []),  # losses that are logged with their weights
    ],
)
def test_a_weight_that_is_applied_is_the_contribution_divided_by_the_loss(applied, configured, expected):
    assert severe_tags("hierarchy-imbalance", LEVELS | shares(*applied), hierarchy_weights=configured) == expected


def test_weights_of_training_are_not_mixed_with_those_of_validation():
    wrong = LEVELS | shares(1, 1, 100) | shares(1, 1, 1, split="val")
    wrong |= {tag.replace("train", "val"): tape for tag, tape in LEVELS.items()}
    assert severe_tags("hierarchy-imbalance", wrong, hierarchy_weights=[1, 1, 1]) == ["train/loss/contribution_h2"]


def test_a_level_with_nothing_to_predict_is_not_a_matter_of_weights_and_one_left_out_is():
    tapes = LEVELS | shares(1, 1, 0)
    assert severe_tags("hierarchy-imbalance", tapes, hierarchy_weights=[1, 1, 1]) == ["train/loss/contribution_h2"]
    assert severe_tags("hierarchy-imbalance", tapes | {"train/loss/h2": "0x60"}, hierarchy_weights=[1, 1, 1]) == []


# ---- what a diffusion model predicts


def bands(*ends):
    return {f"eval/val/loss_quantile_0.{2 * i + 1}": f"@50 1>{end}x20~0.5%" for i, end in enumerate(ends)}


FALLING, RISING = bands(0.4, 0.2, 0.1, 0.05, 0.01), bands(0.01, 0.05, 0.1, 0.2, 0.4)


@pytest.mark.parametrize(
    ("tapes", "config", "expected"),
    [
        (RISING, {"prediction_type": "epsilon"}, ["eval/val/loss_quantile_0.9"]),
        (RISING, {"model": {"objective": "pred_noise"}}, ["eval/val/loss_quantile_0.9"]),
        (FALLING, {"parameterization": "x0"}, ["eval/val/loss_quantile_0.1"]),
        (FALLING, {"prediction_type": "epsilon"}, []),
        (RISING, {"prediction_type": "sample"}, []),
        (RISING, {"prediction_type": "v_prediction"}, []),
        (RISING, {}, []),  # both are good models
        (bands(0.5, 0.2, 0.1, 0.3, 0.6), {"prediction_type": "epsilon"}, []),
    ],
)
def test_bands_in_the_order_of_another_target_than_the_declared_one_are_reported(tapes, config, expected):
    assert severe_tags("quantile-stuck", tapes, **config) == expected


# ---- a sum in the place of a mean


@pytest.mark.parametrize(
    ("train", "val", "fires"),
    [
        ("160>20x400~3%", "@20 1.1>0.14x20~1%", True),
        ("1.1>0.14x400~3%", "@20 1.1>0.14x20~1%", False),
        ("160>0.2x400~3%", "@20 1.1>0.14x20~1%", False),  # a penalty that fades
        ("5>0.6x400~3%", "@20 1.1>0.14x20~1%", False),
    ],
)
def test_a_training_loss_many_times_that_of_validation_from_the_first_step_on_is_a_sum(train, val, fires):
    expected = found("initial-loss-off", {"train/loss": train, "val/loss": val})
    assert bool(expected) == fires


def test_without_an_early_evaluation_the_first_loss_is_not_checked():
    case = case_from_tapes({"train/loss": "160>20x400~3%", "val/loss": "@20 nanx3 1.1>0.14x17~1%"})
    seen = run_detectors(case, [all_detectors()["initial-loss-off"]])
    assert not seen.findings
    assert [one.slug for one in seen.not_checked] == ["initial-loss-off"]


def test_a_training_loss_that_ends_long_before_validation_is_not_compared_with_it():
    case = case_from_tapes({"train/loss": "160>20x10", "val/loss": "@20 1.1>0.14x20~1%"})
    seen = run_detectors(case, [all_detectors()["initial-loss-off"]])
    [one] = seen.not_checked
    assert "'train/loss' ends before half of 'val/loss'" in one.because


# ---- rhythm on a busy machine


def test_slow_steps_are_found_though_the_machine_is_busy_for_a_while():
    calm, busy = "(40x19~10% 440)", "(300x19~40% 740)"
    tag = "train/performance/step_time_ms"
    assert severe_tags("step-time-periodic", {tag: f"{calm}x12 {busy}x4 {calm}x4"}) == [tag]
    assert severe_tags("step-time-periodic", {tag: "40x240~10% 300x80~40% 40x80~10%"}) == []


# ---- validation sets


def test_one_validation_set_that_is_easier_says_nothing_of_the_training():
    train, below, level = "3.0-0.004x400~0.03", "@20 2.5-0.08x20~0.01", "@20 3.0-0.08x20~0.01"
    assert severe_tags("val-below-train", {"train/loss": train, "val/loss": below}, dropout=0.0) == ["val/loss"]
    sets = {"train/loss": train, "eval/easy/loss": below, "eval/usual/loss": level}
    assert found("val-below-train", sets, dropout=0.0) == []


# ---- phases


@pytest.mark.parametrize(
    ("loss", "config", "expected"),
    [
        ("2.5>0.5x300~5% 2.6>1.3x200~5%", {}, ["train/loss"]),
        ("2.5>0.5x300~5% 2.6>1.3x200~5%", {"declared_changes": [{"step": 300, "what": "a new head"}]}, []),
        ("2.5>0.5x300~5% 0.5>2.6x200~5%", {"declared_changes": [{"step": 300, "what": "a new head"}]}, ["train/loss"]),
    ],
)
def test_a_phase_that_was_declared_is_measured_by_itself(loss, config, expected):
    assert severe_tags("loss-diverged", {"train/loss": loss}, **config) == expected


@pytest.mark.parametrize(("declared", "expected"), [([], ["train/loss"]), ([{"step": 262, "what": "a new head"}], [])])
def test_a_change_between_the_beginning_of_a_rise_and_its_peak_explains_it(declared, expected):
    loss = "2.5>0.5x250~5% 0.5+0.1x20~5% 2.6>0.5x230~5%"
    assert severe_tags("loss-spike", {"train/loss": loss}, declared_changes=declared) == expected


# ---- noise


@pytest.mark.parametrize(
    ("loss", "least", "most"),
    [("2x100~2% 3x40~2% 2x60~2%", 15, 40), ("0.1x100~22% 0.12x40~22% 0.1x60~22%", 0.5, 3)],
)
def test_an_episode_is_as_clear_as_it_stands_above_the_noise_of_single_points(loss, least, most):
    track = case_from_tapes({"train/loss": loss}).one("train.loss")
    values = track.points().values
    level, peak = float(values[:100].mean()), float(values.max())
    alarm = Alarm(100, 105, 140, True, level, 0.0, peak, 110, level, 5)
    assert least < clear_of_noise(track, alarm) < most
