"""Each training of the demonstration has the fate that its first lines tell, whenever one looks, whatever the seed."""

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest

import pulseboard as pb
from pulseboard.demo.classifying import Classifier
from pulseboard.demo.trainings import all_names, collapsing, diverging, healthy, overfitting, training
from pulseboard.diagnose.live import Watcher

SEEDS = (0, 1)
LOOK_EVERY = 60


def reports(name, model, plan):
    """What diagnosis says while a training goes on, and at its end."""
    watcher = Watcher(name, "", dataclasses.asdict(plan))
    with np.errstate(all="ignore"):
        for step in range(plan.max_steps):
            logged = model.step(step)
            watcher.scalars(logged[0] if isinstance(logged, tuple) else logged, step=step, wall_time=1e9 + step / 20)
            if step % LOOK_EVERY == 0 or step == plan.max_steps - 1:
                yield step, watcher.report()


def classified(module, *, seed):
    return list(reports("it", Classifier(module.PLAN, seed=seed), module.PLAN))


def first_seen(found, slugs):
    """The step at which one of the findings was first told."""
    return next((step for step, report in found if {f.slug for f in report.findings} & slugs), None)


def test_the_trainings_are_the_four_that_are_promised():
    assert all_names() == ["collapsing", "diverging", "healthy", "overfitting"]
    for name in all_names():
        assert training(name).__doc__.endswith(".")


@pytest.mark.parametrize("seed", SEEDS)
def test_in_the_healthy_one_nothing_is_ever_found_above_info(seed):
    found = classified(healthy, seed=seed)
    assert {(f.slug, step) for step, report in found for f in report.findings if f.severity != "info"} == set()


def test_the_healthy_one_learns_and_validation_follows():
    with np.errstate(all="raise"):
        model = Classifier(healthy.PLAN, seed=0)
        logged = [model.step(step) for step in range(healthy.PLAN.max_steps)]
    assert logged[0]["val/loss"] == pytest.approx(np.log(3), rel=0.2)
    assert logged[-1]["val/loss"] < 0.35
    assert logged[-1]["val/accuracy"] > 0.85
    assert np.mean([one["train/loss"] for one in logged[-100:]]) == pytest.approx(logged[-1]["val/loss"], rel=0.25)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_diverging_one_is_lost_for_its_learning_rate(seed):
    found = classified(diverging, seed=seed)
    assert first_seen(found, {"loss-nan", "loss-diverged"}) < 0.5 * diverging.PLAN.max_steps
    assert first_seen(found, {"update-too-large"}) < first_seen(found, {"loss-nan"})  # it could be seen coming
    last = found[-1][1]
    assert last.status == "critical"
    assert last.causes[0].slug == "lr-too-high"


@pytest.mark.parametrize("seed", SEEDS)
def test_the_overfitting_one_is_found_and_has_too_little_data(seed):
    found = classified(overfitting, seed=seed)
    assert first_seen(found, {"overfitting"}) < 0.6 * overfitting.PLAN.max_steps
    last = found[-1][1]
    assert "overfitting" in {f.slug for f in last.findings if f.severity == "warning"}
    assert last.causes[0].slug == "too-little-data"


@pytest.mark.parametrize("seed", SEEDS)
def test_the_collapsing_one_is_found_and_has_no_stop_gradient(seed):
    plan = collapsing.PLAN
    found = list(reports("it", collapsing.Jepa(plan, seed=seed), plan))
    assert first_seen(found, {"representation-collapse"}) < 0.6 * plan.max_steps
    assert found[-1][1].causes[0].slug == "no-stop-gradient"


def test_the_same_model_with_stop_gradient_does_not_collapse():
    plan = dataclasses.replace(collapsing.PLAN, stop_gradient=True)
    found = list(reports("it", collapsing.Jepa(plan, seed=0), plan))
    assert first_seen(found, {"representation-collapse"}) is None


@pytest.mark.parametrize("name", all_names())
def test_a_training_logs_curves_pictures_and_what_it_is_about(tmp_path, name):
    command = [sys.executable, "-m", "pulseboard.demo", name, "--dir", str(tmp_path), "--secs", "0", "--seed", "3"]
    subprocess.run(command, check=True, capture_output=True)
    run = pb.read(tmp_path)[name]
    assert run.series("train/loss").steps.tolist() == list(range(1200))
    assert run.tags("image")
    assert len(run.tags("histogram")) >= 1
    told = json.loads((tmp_path / name / "run.json").read_text())
    assert (told["status"], told["tags"]) == ("finished", ["demo"])
    assert {"max_steps": 1200, "seed": 3}.items() <= told["config"].items()
    assert told["notes"] == training(name).__doc__


def test_a_seed_is_a_training_and_another_seed_another():
    first, again, other = (Classifier(healthy.PLAN, seed=seed).step(0)["train/loss"] for seed in (5, 5, 6))
    assert first == again != other
