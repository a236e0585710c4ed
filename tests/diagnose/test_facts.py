"""Facts: what is true of a run, by every way its log allows, or unknown."""

from dataclasses import replace

import numpy as np
import pytest

from pulseboard.diagnose.detector import run_detectors
from pulseboard.diagnose.facts.clock import steps_on_clock
from pulseboard.diagnose.facts.fact import all_facts
from pulseboard.diagnose.facts.learning import learning, weights_move
from pulseboard.diagnose.facts.objective import loss_course, objective
from pulseboard.diagnose.facts.regime import may_rise, regime
from pulseboard.diagnose.facts.scores import accuracy_gap, choices, never_improved
from pulseboard.diagnose.facts.signs.sign import all_signs, signs_of
from pulseboard.diagnose.facts.validation import validation_curves
from pulseboard.diagnose.stats.course import course
from pulseboard.diagnose.track import Points


def falling(n=60, start=4.0, end=1.0):
    return np.linspace(start, end, n)


def test_a_fact_is_computed_once(case):
    made = case({"train/loss": falling()})
    assert learning(made) is learning(made)


def test_every_fact_has_an_answer_for_an_empty_run(case):
    made = case({})
    for name, establish in all_facts().items():
        assert set(establish(made).to_dict()) == {"value", "confidence", "from", "why"}, name
    assert signs_of(made) == {}


def test_a_loss_that_falls_is_learning_and_one_that_stands_still_is_not(case):
    noise = 0.02 * np.random.default_rng(0).normal(size=60)
    assert learning(case({"train/loss": falling() + noise})).value is True
    assert learning(case({"train/loss": 2.3 + noise})).value is False
    assert learning(case({"train/loss": [2.3, 2.2]})).value is None


def test_an_accuracy_that_rises_is_learning_even_if_the_loss_is_flat(case):
    made = case({"train/loss": np.full(60, 2.3), "val/accuracy": np.linspace(0.1, 0.8, 20)})
    assert learning(made).value is True


def test_parts_of_a_loss_are_added_up(case):
    made = case({"train/box_loss": falling(20, 3, 1), "train/cls_loss": falling(20, 5, 2)})
    found = objective(made).value
    assert found is not None
    assert found.points.values[[0, -1]].tolist() == [8.0, 3.0]
    assert found.tag == "train/cls_loss"  # the larger part, for charts


def test_a_maximized_quantity_is_turned_over(case):
    made = case({"train_elbo": np.linspace(-90, -10, 40)})
    found = loss_course(made).value
    assert found is not None
    assert (found.start > found.end, may_rise(made)) == (True, False)


def test_validation_parts_are_one_curve(case):
    made = case({"val/box_loss": falling(10), "val/cls_loss": falling(10)})
    (curve,) = validation_curves(made, points=4)
    assert curve.points.values[0] == 8.0


@pytest.mark.parametrize(
    ("tags", "kind"),
    [
        (("rollout/ep_rew_mean",), "reinforcement"),
        (("g_loss", "d_loss"), "adversarial"),
        (("train/loss", "train/ema/momentum_current"), "moving-target"),
        (("train/loss", "train/kl_loss"), "variational"),
    ],
)
def test_the_kind_of_training_follows_from_what_is_logged(case, tags, kind):
    made = case({tag: falling() for tag in tags})
    assert kind in (regime(made).value or ())


def test_the_number_of_choices_follows_from_the_first_loss_and_accuracy(case):
    loss, accuracy = [np.log(10), 2.2, 1.9, 1.7], [0.1, 0.2, 0.3, 0.4]
    assert choices(case({"train/loss": loss, "train/accuracy": accuracy})).value == 10
    assert choices(case({"train/loss": loss})).value is None  # any loss is near the logarithm of something
    assert choices(case({"train/loss": loss, "train/accuracy": accuracy}, config={"num_classes": 7})).value == 7


def test_an_accuracy_that_never_rose_is_distinguished_from_one_that_is_good_already(case):
    made = case({"val/accuracy": [0.5, 0.51, 0.49, 0.5, 0.5, 0.51]})
    assert never_improved(made.tracks["val/accuracy"], evaluations=5) == pytest.approx(0.5)
    for values in (
        [0.9] * 6,
        [0.2, 0.4, 0.5, 0.6, 0.6, 0.6],
        [0.6, 0.5, 0.4, 0.3, 0.3, 0.3],
        [50.0, 71, 80, 81, 82, 83],
    ):
        made = case({"val/accuracy": values})
        assert never_improved(made.tracks["val/accuracy"], evaluations=5) is None


def test_the_gap_of_accuracies_is_taken_at_the_end_and_in_shares(case):
    made = case({"train/accuracy": [50.0, 80, 100, 100, 100], "val/accuracy": [0.5, 0.6, 0.6, 0.6, 0.6]})
    assert accuracy_gap(made) == pytest.approx(0.4)


def test_weights_do_not_move_if_every_evaluation_is_the_same_to_the_last_digit(case):
    made = case({"train/loss": np.full(20, 2.3) + np.arange(20) * 1e-9, "val/loss": [2.3456789] * 5})
    assert weights_move(made).value is False


def test_evaluations_counted_in_epochs_are_put_on_the_steps_of_training(case):
    made = case({"train/loss": falling(1000), "val/loss": (np.arange(1, 11), falling(10))})
    placed = steps_on_clock(made.tracks["val/loss"], made.tracks["train/loss"])
    assert placed[0] < 200
    assert placed[-1] > 900 or made.tracks["val/loss"].last_step == 10


def test_a_course_is_not_fooled_by_a_bend_or_a_slope():
    t = np.linspace(0, 1, 20)
    found = course(Points(np.arange(20), 3 * np.exp(-4 * t)))
    assert found is not None
    assert found.noise < 0.05
    assert (found.start, found.rise) == (pytest.approx(3.0, abs=0.6), pytest.approx(0.0, abs=0.01))


def test_signs_answer_yes_no_or_nothing(case):
    made = case({"train/loss": falling(), "train/lr": np.full(60, 3.0)})
    answers = signs_of(made)
    assert set(answers) <= set(all_signs())
    assert answers["sign:lr-large"] is True
    assert answers["sign:early-burst"] is False
    assert "sign:gradient-high" not in answers


def test_a_run_that_goes_on_is_not_said_to_learn_nothing_after_a_few_points(case):
    flat = {"train/loss": np.full(12, 2.3) + 1e-3 * np.random.default_rng(0).normal(size=12)}

    def alarms(status):
        made = case(flat)
        made.context = replace(made.context, status=status)
        return [finding.slug for finding in run_detectors(made).findings if finding.severity != "info"]

    assert "loss-flat" in alarms("finished")
    assert alarms("running") == []
