"""The W&B sink."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from record.fake_trackers import FakeWandb, absent
from record.sinks.played_run import (
    WALL,
    histogram,
    info,
    play,
    png,
)

from pulseboard.record.sink_runner import SinkRunner
from pulseboard.record.sinks.wandb import WandB


def test_wandb_charts_use_our_step(wandb, tmp_path):
    play("wandb", info(tmp_path))
    assert wandb.runs[0].defined == [("trainer/step", None), ("*", "trainer/step")]


def test_wandb_keeps_every_value_when_steps_repeat_or_go_back(wandb, tmp_path):
    play("wandb", info(tmp_path))
    losses = [(row["trainer/step"], row["train/loss"]) for row in wandb.runs[0].rows if "odd name @ 1" in row]
    assert losses[:4] == [(1, 2.0), (2, 1.5), (2, 1.25), (1, 9.0)]
    assert losses[4][0] == 3
    assert math.isnan(losses[4][1])


def test_wandb_rows_have_the_time_of_logging_not_of_arrival(wandb, tmp_path):
    play("wandb", info(tmp_path))
    assert wandb.runs[0].rows[0]["_timestamp"] == WALL + 1


def test_wandb_has_the_names_and_units_of_the_reference(wandb, tmp_path):
    play("wandb", info(tmp_path))
    rows = wandb.runs[0].rows
    everything = {name: value for row in rows for name, value in row.items()}
    assert everything["gpu/power"] == 350000
    assert everything["gpu/1/power"] == 250000
    assert everything["gpu/dram_free"] == 8192.0
    assert everything["gpu/pcie_rx"] == 1024.0
    assert everything["gpu/pcie_tx"] == 512.0
    assert everything["moe/aux_loss"] == 0.0234
    assert everything["train/lr"] == 0.0002
    assert everything["eval/loss"] == 2.125
    assert [row["trainer/step"] for row in rows if "eval/loss" in row] == [500]


def test_wandb_shows_memory_by_segment_as_a_pie_once_until_it_changes(wandb, tmp_path):
    play("wandb", info(tmp_path))
    pies = [row for row in wandb.runs[0].rows if "allocator/pie" in row]
    assert len(pies) == 1
    assert pies[0]["allocator/segments"].data == [["weights", 4096.0], ["gradients", 1024.0], ["optimizer", 2048.0]]
    assert "weights: 4,096.0 MiB (57.1%)" in pies[0]["allocator/pie"].html


def test_wandb_gets_facts_about_the_whole_run_as_config(wandb, tmp_path):
    play("wandb", info(tmp_path))
    config = wandb.runs[0].config.values
    assert config["gpu_model/0"] == {"id": 0, "name": "NVIDIA H100 80GB HBM3", "sm_count": 132}
    assert (config["lr"], config["seed"], config["path"]) == (1e-4, 1, "/data")


def test_wandb_histograms_keep_their_buckets_or_merge_neighbors(wandb, tmp_path):
    sink = WandB(info(tmp_path))
    sink.histogram("few", histogram(buckets=4))
    sink.histogram("many", histogram(buckets=1500))
    sink.histogram("none", histogram(buckets=0))
    few, many = (row.get("few") or row.get("many") for row in wandb.runs[0].rows)
    assert few.edges.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert (len(many.counts), many.counts.sum(), many.edges[0], many.edges[-1]) == (512, 1500, 0.0, 4.0)
    assert (np.diff(many.edges) > 0).all()


def test_wandb_text_is_shown_as_it_was_written(wandb, tmp_path):
    play("wandb", info(tmp_path))
    page = next(row["samples/text"].html for row in wandb.runs[0].rows if "samples/text" in row)
    assert "a &lt;b&gt; &amp; c" in page


def test_wandb_images_need_no_pillow(wandb, tmp_path, monkeypatch):
    sink = WandB(info(tmp_path))
    with absent(monkeypatch, "PIL"):
        sink.image("picture", png(), step=1, wall_time=WALL)
    assert wandb.runs[0].rows[0]["picture"].html.startswith('<img src="data:image/png;base64,')


@pytest.mark.parametrize(("status", "code"), [("finished", 0), ("failed", 1), ("killed", 255)])
def test_wandb_gets_the_status(wandb, tmp_path, status, code):
    play("wandb", info(tmp_path), status=status)
    assert wandb.runs[0].exit_code == code


def test_wandb_settings_are_arguments_of_init_and_others_are_left_to_it(wandb, tmp_path):
    play("wandb", info(tmp_path, wandb_project="p", wandb_entity=None, wandb_group="g", aim_repo="x"))
    arguments = wandb.inits[0]
    assert (arguments["project"], arguments["group"], arguments["name"]) == ("p", "g", "2026-02-10_012")
    assert not {"entity", "mode", "repo"} & arguments.keys()
    assert (arguments["tags"], arguments["notes"]) == (("first", "long"), "a try")


def test_the_users_wandb_variables_win_over_our_defaults(wandb, tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_NAME", "mine")
    monkeypatch.setenv("WANDB_CONSOLE", "wrap")
    play("wandb", info(tmp_path))
    assert wandb.inits[0]["name"] is None
    assert "console" not in wandb.inits[0]["settings"]


def test_without_a_login_the_run_is_kept_offline_and_that_is_reported(wandb, tmp_path, capsys):
    wandb.fails = ["No API key configured. Use `wandb login` to log in."]
    play("wandb", info(tmp_path))
    assert [arguments.get("mode") for arguments in wandb.inits] == [None, "offline"]
    stderr = capsys.readouterr().err
    assert "No API key configured" in stderr
    assert "wandb sync wandb/offline-run-abc123" in stderr


def test_w_and_b_stops_connecting_before_a_run_stops_waiting_for_it(wandb, tmp_path):
    play("wandb", info(tmp_path))
    waits_secs = inspect.signature(SinkRunner.close).parameters["timeout_secs"].default
    assert 0 < wandb.global_settings["init_timeout"] <= waits_secs / 2


def test_the_users_own_limit_for_connecting_counts(wandb, tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_INIT_TIMEOUT", "300")
    play("wandb", info(tmp_path))
    assert "init_timeout" not in wandb.global_settings


def test_a_mode_that_the_user_set_is_not_changed(wandb, tmp_path):
    wandb.fails = ["No API key configured."]
    with pytest.raises(FakeWandb.Error, match="No API key"):
        WandB(info(tmp_path, wandb_mode="online"))
    assert len(wandb.inits) == 1


def test_a_resumed_run_continues_the_same_wandb_run(wandb, tmp_path):
    play("wandb", info(tmp_path))
    play("wandb", info(tmp_path))
    assert "id" not in wandb.inits[0]
    assert (wandb.inits[1]["id"], wandb.inits[1]["resume"]) == ("abc123", "allow")


def test_a_run_that_is_resumed_offline_is_a_new_wandb_run(wandb, tmp_path, monkeypatch):
    play("wandb", info(tmp_path))
    play("wandb", info(tmp_path, wandb_mode="offline"))
    monkeypatch.setenv("WANDB_MODE", "offline")
    play("wandb", info(tmp_path))
    assert ["id" in arguments for arguments in wandb.inits] == [False, False, False]
