"""Each training of the demo does what its docstring promises, at any time and for any seed."""

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest

import pulseboard as pb
from pulseboard.demo.classifier import Classifier
from pulseboard.demo.trainings import all_names, collapsing, diverging, healthy, overfitting, training
from pulseboard.diagnose.live import Watcher

SEEDS = (0, pytest.param(1, marks=pytest.mark.long))
DIAGNOSE_EVERY = 60


def reports(name, model, config):
    """The diagnosis during a training and at its end."""
    watcher = Watcher(name, "", dataclasses.asdict(config))
    with np.errstate(all="ignore"):
        for step in range(config.max_steps):
            logged = model.step(step)
            watcher.scalars(logged[0] if isinstance(logged, tuple) else logged, step=step, wall_time=1e9 + step / 20)
            if step % DIAGNOSE_EVERY == 0 or step == config.max_steps - 1:
                yield step, watcher.report()


def classified(module, *, seed):
    return list(reports("it", Classifier(module.CONFIG, seed=seed), module.CONFIG))


def first_seen(found, slugs):
    """The step at which one of the findings was first reported."""
    return next((step for step, report in found if {f.slug for f in report.findings} & slugs), None)


def test_there_are_four_trainings():
    assert all_names() == ["collapsing", "diverging", "healthy", "overfitting"]
    for name in all_names():
        assert training(name).__doc__.endswith(".")


@pytest.mark.parametrize("seed", SEEDS)
def test_the_healthy_training_never_has_a_finding_above_info(seed):
    found = classified(healthy, seed=seed)
    assert {(f.slug, step) for step, report in found for f in report.findings if f.severity != "info"} == set()


def test_the_healthy_training_learns_and_validation_follows():
    with np.errstate(all="raise"):
        model = Classifier(healthy.CONFIG, seed=0)
        logged = [model.step(step) for step in range(healthy.CONFIG.max_steps)]
    assert logged[0]["val/loss"] == pytest.approx(np.log(3), rel=0.2)
    assert logged[-1]["val/loss"] < 0.35
    assert logged[-1]["val/accuracy"] > 0.85
    assert np.mean([values["train/loss"] for values in logged[-100:]]) == pytest.approx(
        logged[-1]["val/loss"], rel=0.25
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_diverging_training_is_critical_because_of_its_learning_rate(seed):
    found = classified(diverging, seed=seed)
    assert first_seen(found, {"loss-nan", "loss-diverged"}) < 0.5 * diverging.CONFIG.max_steps
    assert first_seen(found, {"update-too-large"}) < first_seen(found, {"loss-nan"})  # visible in advance
    last = found[-1][1]
    assert last.status == "critical"
    assert last.causes[0].slug == "lr-too-high"


@pytest.mark.parametrize("seed", SEEDS)
def test_the_overfitting_training_has_too_little_data(seed):
    found = classified(overfitting, seed=seed)
    assert first_seen(found, {"overfitting"}) < 0.6 * overfitting.CONFIG.max_steps
    last = found[-1][1]
    assert "overfitting" in {f.slug for f in last.findings if f.severity == "warning"}
    assert last.causes[0].slug == "too-little-data"


@pytest.mark.parametrize("seed", SEEDS)
def test_the_collapsing_training_has_no_stop_gradient(seed):
    config = collapsing.CONFIG
    found = list(reports("it", collapsing.Jepa(config, seed=seed), config))
    assert first_seen(found, {"representation-collapse"}) < 0.6 * config.max_steps
    assert found[-1][1].causes[0].slug == "no-stop-gradient"


def test_the_same_model_with_stop_gradient_does_not_collapse():
    config = dataclasses.replace(collapsing.CONFIG, stop_gradient=True)
    found = list(reports("it", collapsing.Jepa(config, seed=0), config))
    assert first_seen(found, {"representation-collapse"}) is None


@pytest.mark.parametrize("name", all_names())
def test_a_training_logs_curves_images_and_its_description(tmp_path, name):
    command = [sys.executable, "-m", "pulseboard.demo", name, "--dir", str(tmp_path), "--secs", "0", "--seed", "3"]
    subprocess.run(command, check=True, capture_output=True)
    run = pb.read(tmp_path)[name]
    assert run.series("train/loss").steps.tolist() == list(range(1200))
    assert run.tags("image")
    assert len(run.tags("histogram")) >= 1
    run_json = json.loads((tmp_path / name / "run.json").read_text())
    assert (run_json["status"], run_json["tags"]) == ("finished", ["demo"])
    assert {"max_steps": 1200, "seed": 3}.items() <= run_json["config"].items()
    assert run_json["notes"] == training(name).__doc__


def test_the_seed_determines_the_training():
    first, again, other = (Classifier(healthy.CONFIG, seed=seed).step(0)["train/loss"] for seed in (5, 5, 6))
    assert first == again != other
