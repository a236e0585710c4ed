"""The same training, logged in another way."""

import numpy as np
import pytest
from zoo.fault import all_faults
from zoo.plan import PlannedTraining, leave_one_base_out
from zoo.score import Judged, judge, judge_views, score
from zoo.scoring.names import NEEDS_MORE, QUANTITIES, STYLES, ordinary, style_for
from zoo.views import DECLARED, FULL, VIEWS, View
from zoo_samples import finding, report

import pulseboard as pb
from pulseboard.core.errors import TagNotFound
from pulseboard.diagnose.cases import case_of, trainings
from pulseboard.read.runs import read

GPT = PlannedTraining("gpt", "healthy", 0)
STEPS = GPT.steps


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    """A zoo with one short training that logs what our trainers log."""
    zoo = tmp_path_factory.mktemp("zoo")
    directory = zoo / GPT.name
    config = {"max_steps": STEPS, "vocab_size": 65}
    with pb.init(dir=str(directory), config=config, strict=True) as run:
        run.hparams({"vocab_size": 65})
        for step in range(0, STEPS, 2):
            run.log({"Loss/train": 4 - step / STEPS, "Learning_Rate/lr": 1e-3, "Gradient/norm": 1.0}, step)
            run.log({"train/update_ratio": 1e-3, "Training/epoch": step / 100}, step)
            if step % 40 == 0:
                run.log({"Loss/validation": 4 - step / STEPS}, step)
                run.histogram("weights", np.linspace(0, 1, 50), step=step)
    (zoo / f"{GPT.name}.done").touch()
    return zoo


@pytest.fixture(scope="module")
def training(zoo):
    return next(iter(trainings(read(zoo / GPT.name))))


def seen(training, name, planned=GPT):
    return VIEWS[name].of(training, planned).parts[0][1]


def test_the_full_view_is_the_run_itself(training):
    assert FULL.of(training, GPT).parts == training.parts


def test_only_ordinary_metrics_are_left_and_no_configuration(training):
    run = seen(training, "ordinary metrics only")
    assert sorted(run.tags()) == [
        "Gradient/norm",
        "Learning_Rate/lr",
        "Loss/train",
        "Loss/validation",
        "Training/epoch",
    ]
    assert run.hparams() is None
    assert run.config() == {}
    with pytest.raises(TagNotFound):
        run.series("train/update_ratio")
    assert case_of(training).planned_steps == STEPS
    case = case_of(VIEWS["ordinary metrics only"].of(training, GPT))
    assert case.planned_steps is None
    assert case.context.status is None
    assert not case.histograms


@pytest.mark.parametrize("style", sorted(STYLES))
def test_foreign_names_keep_the_splits_and_the_values(training, style):
    several = [PlannedTraining("gpt", "healthy", seed) for seed in range(99)]
    planned = next(one for one in several if style_for(one.name) == style)
    run = seen(training, "foreign names", planned)
    loss, val = STYLES[style]["train loss"], STYLES[style]["val loss"]
    original = training.parts[0][1]
    assert run.series(loss).tag == loss
    assert run.series(loss).values.tolist() == original.series("Loss/train").values.tolist()
    assert run.series(val).values.tolist() == original.series("Loss/validation").values.tolist()
    assert set(run.tags()) <= set(STYLES[style].values())
    reading = case_of(VIEWS["foreign names"].of(training, planned)).reading
    assert reading.first("train.loss") == loss


def test_without_configuration_everything_logged_is_left(training):
    run = seen(training, "no run.json or config")
    assert "train/update_ratio" in run.tags("scalar")
    assert "weights" in run.tags("histogram")
    assert run.config() == {}
    assert case_of(VIEWS["no run.json or config"].of(training, GPT)).planned_steps is None


def test_a_cut_training_knows_its_plan_but_not_how_it_ended(training):
    view = VIEWS["cut at 30 %"]
    case = case_of(view.of(training, GPT))
    assert case.steps == (0, int(0.3 * STEPS))
    assert case.planned_steps == STEPS
    assert case.context.status is None
    assert [one.step for one in seen(training, "cut at 30 %").histograms("weights")] == [0, 40, 80, 120]


def test_every_10th_point_of_long_series_is_left(training):
    run = seen(training, "every 10th point")
    original = training.parts[0][1]
    assert run.series("Loss/train").steps.tolist() == original.series("Loss/train").steps[::10].tolist()
    assert len(run.series("Loss/validation")) == len(original.series("Loss/validation"))


def test_the_first_tag_of_a_quantity_counts():
    assert ordinary(["train/learning_rate/base_lr", "train/lr", "epoch", "moe/aux_loss"]) == {
        "learning rate": "train/lr",
        "epoch": "epoch",
    }
    assert all(style.keys() <= QUANTITIES.keys() for style in STYLES.values())


# ---- what counts in a view


def judged(fault, *slugs, view=FULL, onset=0.5):
    planned = PlannedTraining("gpt", fault, 0, onset=onset)
    return Judged(planned, report(*(finding(slug) for slug in slugs)), view=view)


def test_a_fault_that_starts_after_the_cut_is_not_there_yet():
    early = View(until=0.3)
    assert judged("nan-batch", view=early).healthy
    assert not judged("nan-batch").healthy
    assert not judged("lr-zero", view=early).healthy
    assert not judged("nan-batch", view=early, onset=0.2).healthy


def test_a_fault_that_needs_more_than_the_view_shows_is_left_out():
    view = View(hides=NEEDS_MORE)
    assert judged("memory-leak", view=view).hidden
    assert not judged("memory-leak").hidden
    assert not judged("lr-zero", view=view).hidden
    totals = score([judged("memory-leak", "loss-nan", view=view), judged("lr-zero", "lr-zero", view=view)])
    assert (totals.faulty, totals.found, totals.alarms) == (1, 1, 1)


def test_a_decoy_that_the_configuration_declares_is_left_out_without_it():
    assert judged("warm-restarts-declared", "lr-jump", view=VIEWS["no run.json or config"]).hidden
    assert not judged("warm-restarts-declared", "lr-jump").hidden
    assert not judged("clip-most-steps", view=VIEWS["no run.json or config"]).hidden
    assert {name for name, fault in all_faults().items() if fault.decoy} >= DECLARED


def test_every_alarm_of_a_broken_run_is_counted():
    totals = score([judged("lr-too-high-sgd", "loss-diverged", "gradient-exploding"), judged("healthy", "loss-spike")])
    assert (totals.headlines, totals.broken, totals.flagged, totals.right_alarms) == (2, 1, 1, 2)


def test_several_processes_see_the_same_through_each_view(zoo):
    names = ["ordinary metrics only", "no run.json or config"]
    found = judge_views([GPT, PlannedTraining("gpt", "lr-zero", 0)], zoo, names, jobs=1)
    assert list(found) == names
    for name in names:
        (alone,) = judge([GPT], zoo, view=VIEWS[name])
        assert [one.report.to_dict() for one in found[name]] == [alone.report.to_dict()]


def test_trainings_that_are_not_built_are_skipped(tmp_path):
    assert judge([GPT], tmp_path, view=VIEWS["foreign names"]) == []


def test_each_base_is_left_out_once():
    plan = [PlannedTraining(base, "healthy", seed) for base, seed in (("gpt", 0), ("moe", 0), ("gpt", 1))]
    found = leave_one_base_out(plan, base_of=lambda one: one.base)
    assert [(base, len(rest), len(group)) for base, rest, group in found] == [("gpt", 1, 2), ("moe", 2, 1)]
