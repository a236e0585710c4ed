"""The Aim sink."""

from __future__ import annotations

import numpy as np
import pytest
from record.sinks.played_run import (
    WALL,
    histogram,
    info,
    play,
)

from pulseboard.core.values import Histogram
from pulseboard.record import tracker
from pulseboard.record.sinks.aim import Aim, evenly_binned


def test_aim_keeps_every_value_when_steps_repeat_or_go_back(aim, tmp_path):
    play("aim", info(tmp_path))
    tracked = aim.runs[0].tracked
    assert list(tracked["train/loss", 0])[:3] == [1, 2, 3]
    assert tracked["train/loss", 0][2] == 1.5
    assert tracked["train/loss", 1] == {2: 1.25}
    assert tracked["train/loss", 2] == {1: 9.0}


def test_aim_metrics_with_rising_steps_have_no_context(aim, tmp_path):
    sink = Aim(info(tmp_path))
    for step in range(5):
        sink.scalars({"a": 1.0}, step=step, wall_time=WALL)
    assert list(aim.runs[0].tracked) == [("a", 0)]


def test_aim_warns_once_if_a_step_is_logged_too_often(aim, tmp_path, capsys):
    sink = Aim(info(tmp_path))
    for value in range(100):
        sink.scalars({"a": value}, step=0, wall_time=WALL)
    assert len(aim.runs[0].tracked) == 16
    assert capsys.readouterr().err.count("\n") == 1


def test_aim_has_the_names_and_units_of_the_reference(aim, tmp_path):
    play("aim", info(tmp_path))
    tracked = aim.runs[0].tracked
    assert tracked["gpu/0/power", 0] == {100: 350000}
    assert tracked["gpu/1/power", 0] == {100: 250000}
    assert tracked["gpu/0/dram_free", 0] == {100: 8192.0}
    assert tracked["gpu/0/pcie_tx", 0] == {100: 512.0}
    assert tracked["allocator/weights_mib", 0] == {0: 4096.0}
    assert tracked["moe/load_imbalance", 0] == {100: 1.45}


def test_aim_gets_settings_config_and_status(aim, tmp_path):
    play("aim", info(tmp_path, aim_experiment="e", aim_repo="/r", aim_name="n"), status="failed")
    run = aim.runs[0]
    assert (run.arguments["experiment"], run.arguments["repo"], run.name) == ("e", "/r", "n")
    assert run.attributes["hparams"]["lr"] == 1e-4
    assert run.attributes["hparams"]["model"] == {"layers": 12}
    assert (run.attributes["status"], run.closed, run.tags) == ("failed", True, ["first", "long"])


def test_a_resumed_run_continues_the_same_aim_run(aim, tmp_path):
    play("aim", info(tmp_path))
    aim.locked = {"f00d"}  # by a job that was killed
    play("aim", info(tmp_path))
    assert [run.hash for run in aim.runs] == ["f00d", "f00d"]


def test_a_resumed_run_that_aim_has_lost_is_a_new_one(aim, tmp_path):
    tracker.keep_id(info(tmp_path), "gone", sink="aim")
    play("aim", info(tmp_path))
    assert [run.hash for run in aim.runs] == ["f00d"]


def test_even_bins_hold_the_same_values():
    counts, low, high = evenly_binned(histogram(buckets=4), bins=8)
    assert counts.tolist() == [0.5] * 8
    assert (low, high) == (0.0, 4.0)


def test_even_bins_of_uneven_buckets_hold_the_same_values():
    uneven = Histogram(
        step=0,
        wall_time=WALL,
        lefts=np.array([-np.inf, 0.0, 0.1, 3.0]),
        rights=np.array([0.0, 0.1, 2.0, 3.0]),
        counts=np.array([5.0, 10.0, 20.0, 7.0]),
    )
    counts, low, high = evenly_binned(uneven, bins=3)
    assert (low, high) == (0.0, 3.0)
    assert counts == pytest.approx([10 + 20 * 0.9 / 1.9, 20 * 1.0 / 1.9, 7.0])


def test_a_histogram_of_one_value_has_bins_around_it():
    one = Histogram(step=0, wall_time=WALL, lefts=np.array([2.0]), rights=np.array([2.0]), counts=np.array([9.0]))
    counts, low, high = evenly_binned(one, bins=4)
    assert (counts.sum(), low, high) == (9.0, 1.5, 2.5)


def test_an_empty_histogram_has_no_bins():
    assert len(evenly_binned(histogram(buckets=0), bins=4)[0]) == 0
