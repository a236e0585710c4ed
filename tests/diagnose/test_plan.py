"""The plan that a configuration states counts only if the steps of the log agree with it."""

import math

import numpy as np
import pytest

import pulseboard as pb
from pulseboard.core.series import Series
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.cases import case_of, trainings
from pulseboard.diagnose.context import Context, ForeignConfig
from pulseboard.diagnose.profile import load_profile
from pulseboard.diagnose.roles.resolve import read_tracks
from pulseboard.diagnose.track import Track
from pulseboard.read.axis.info import AxisInfo


def case(config, steps, *, axis=None, own=False, first_loss=3.0, epochs=None, now=None):
    steps = np.asarray(steps, np.int64)
    curves = {"train/loss": first_loss * np.exp(-np.linspace(0, 1, len(steps)))}
    if epochs is not None:
        curves["epoch"] = np.asarray(epochs, float)
    tracks = {
        tag: Track.of(Series(tag, steps, np.full(len(steps), np.nan), values, np.zeros(len(steps), bool)))
        for tag, values in curves.items()
    }
    context = Context.of({}, others=[ForeignConfig("args.yaml", config, is_own=own)])
    return Case(
        "run", "path", tracks, read_tracks(tracks), load_profile("general"), context=context, axis=axis, now=now
    )


EPOCHS = AxisInfo("epoch", steps_per_epoch=1.0)


@pytest.mark.parametrize(
    ("config", "steps", "more", "planned"),
    [
        ({"max_steps": 1000}, range(0, 1000, 10), {}, 1000),
        ({"max_steps": 1000}, range(0, 300, 10), {}, 1000),  # ended early; steps of ten are not calls of a logger
        ({"max_steps": -1, "epochs": 20}, range(20), {"axis": EPOCHS}, 20),
        ({"epochs": 100}, range(30), {"axis": EPOCHS}, 100),
        ({"epochs": 30}, range(30), {}, 29),  # ends at the number of epochs, so it counts them
        ({"epochs": 4}, range(0, 1000, 10), {"epochs": np.arange(100) // 50}, None),  # too few epochs to measure one
        ({"epochs": 8}, range(0, 1000, 10), {"epochs": np.arange(100) // 25}, 2000),
        ({"num_train_epochs": 8}, range(0, 1000, 10), {"epochs": np.arange(100) / 25}, 2000),
        ({"n_epochs": 5, "n_epochs_decay": 5}, range(10), {"axis": EPOCHS}, 10),
        ({"max_steps": 1e16}, range(0, 1000, 10), {}, None),
    ],
)
def test_a_plan_in_the_unit_of_the_log_is_used(config, steps, more, planned):
    assert case(config, steps, **more).planned_steps == planned


@pytest.mark.parametrize(
    ("config", "steps", "more", "why"),
    [
        ({"max_steps": 100}, range(0, 1000, 10), {}, "continues to step 990"),
        ({"max_steps": 100_000}, range(30), {"axis": EPOCHS}, "counts epochs"),
        ({"max_steps": 1000}, range(100), {}, "may count something else"),  # perhaps calls of a logger
        ({"epochs": 50}, range(300), {}, "how long an epoch is"),
        ({"epochs": 5}, range(30), {"axis": EPOCHS}, "about epoch"),
        ({"epochs": 2}, range(0, 1000, 10), {"epochs": np.arange(100) // 25}, "continues to epoch 3"),
    ],
)
def test_a_plan_that_the_steps_contradict_is_not_used_and_the_report_says_so(config, steps, more, why):
    found = case(config, steps, **more)
    assert found.planned_steps is None
    (doubt,) = found.context.doubts
    assert "args.yaml" in doubt
    assert why in doubt


def test_steps_that_reach_the_number_of_epochs_on_their_way_are_not_epochs():
    assert case({"epochs": 30}, range(30), now=1e9).planned_steps is None


def test_a_plan_written_with_the_log_counts_its_steps():
    assert case({"max_steps": 1000}, range(100), own=True).planned_steps == 1000


@pytest.mark.parametrize(
    ("first_loss", "choices"), [(math.log(10), 10), (1.5 * math.log(10), 10), (0.3, None), (40.0, None)]
)
def test_a_number_of_classes_counts_if_the_loss_starts_as_a_guess_among_them_would(first_loss, choices):
    assert case({"num_classes": 10}, range(20), first_loss=first_loss).context.choices == choices


def test_the_configuration_of_a_run_is_read_from_a_file_next_to_its_log(tmp_path):
    lines = "".join(f"{epoch},{2 / (epoch + 1)}\n" for epoch in range(12))
    (tmp_path / "results.csv").write_text("epoch,train/loss\n" + lines)
    (tmp_path / "args.yaml").write_text("optimizer: AdamW\nepochs: 40\namp: true\nbatch: 16\n")
    (training,) = trainings(pb.read(tmp_path))
    found = case_of(training)
    context = found.context
    assert (context.optimizer, context.precision, context.batch_size) == ("adamw", "mixed, 16 bit", 16)
    assert found.planned_steps == 40


def test_a_file_that_cannot_be_read_is_reported_with_the_doubts(tmp_path):
    (tmp_path / "log.csv").write_text("epoch,loss\n0,1\n1,0.5\n")
    (tmp_path / "args.yaml").write_text("a: [1,\nb: }")
    (report,) = pb.diagnose(tmp_path)
    assert any("args.yaml" in doubt and "not valid YAML" in doubt for doubt in report.doubtful)
