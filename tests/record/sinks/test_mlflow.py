"""The MLflow sink."""

from __future__ import annotations

import time

from record.fake_trackers import absent
from record.sinks.played_run import (
    WALL,
    info,
    play,
    png,
)

from pulseboard.record.sinks.mlflow import MLflow


def test_mlflow_keeps_every_value_when_steps_repeat_or_go_back(mlflow, tmp_path):
    play("mlflow", info(tmp_path))
    losses = [(step, value) for key, value, _, step in mlflow.server.metrics if key == "train/loss"]
    assert losses[:4] == [(1, 2.0), (2, 1.5), (2, 1.25), (1, 9.0)]
    assert len(losses) == 6


def test_mlflow_images_need_no_pillow(mlflow, tmp_path, monkeypatch):
    sink = MLflow(info(tmp_path))
    with absent(monkeypatch, "PIL"):
        sink.image("a/picture", png(), step=7, wall_time=WALL)
    assert mlflow.server.artifacts == {"images/a/picture/000000007.png": png()}


def test_mlflow_names_are_valid_and_unique(mlflow, tmp_path):
    sink = MLflow(info(tmp_path))
    for tag in ("loss@1", "loss#1", "/a//../b/", "..", "ä", "x" * 300, "x" * 299):
        sink.scalars({tag: 1.0}, step=0, wall_time=WALL)
    sink.flush()
    names = [key for key, *_ in mlflow.server.metrics]
    assert names[:5] == ["loss_1", "loss_1_2", "a/b", "_", "ä"]
    assert len(set(names)) == len(names)
    assert all(len(name) <= 250 for name in names)


def test_mlflow_metrics_are_sent_in_batches(mlflow, tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    sink = MLflow(info(tmp_path))
    for step in range(5):
        sink.scalars({"a": 1.0}, step=step, wall_time=WALL)
    assert mlflow.server.batches == [1]  # the first at once, the others are held
    now[0] += 1.0
    sink.scalars({"a": 1.0}, step=5, wall_time=WALL)
    assert mlflow.server.batches == [1, 5]
    sink.scalars({f"many/{n}": 1.0 for n in range(2500)}, step=6, wall_time=WALL)
    assert mlflow.server.batches == [1, 5, 1000, 1000, 500]


def test_mlflow_close_sends_waiting_metrics(mlflow, tmp_path):
    sink = MLflow(info(tmp_path))
    for step in range(5):
        sink.scalars({"a": 1.0}, step=step, wall_time=WALL)
    sink.close(status="killed")
    assert len(mlflow.server.metrics) == 5
    assert mlflow.server.runs["run0"].status == "KILLED"


def test_an_mlflow_param_that_changes_is_kept_as_a_tag(mlflow, tmp_path):
    play("mlflow", info(tmp_path))
    data = mlflow.server.runs["run0"].data
    assert (data.params["lr"], data.params["model.layers"], data.params["seed"]) == ("0.0002", "12", "1")
    assert data.tags["changed.lr"] == "0.0001"


def test_mlflow_gets_settings_and_a_new_experiment_is_created(mlflow, tmp_path):
    play("mlflow", info(tmp_path, mlflow_tracking_uri="sqlite:///x", mlflow_experiment="e", mlflow_run_name="n"))
    run = mlflow.server.runs["run0"]
    assert mlflow.uris == ["sqlite:///x"]
    assert (run.info.run_name, run.info.experiment_id, run.status) == ("n", "1", "FINISHED")
    assert (run.data.tags["mlflow.note.content"], run.data.tags["pulseboard.tags"]) == ("a try", "first, long")


def test_mlflow_has_the_names_and_units_of_the_reference(mlflow, tmp_path):
    play("mlflow", info(tmp_path))
    found = {key: value for key, value, *_ in mlflow.server.metrics}
    assert found["gpu/0/dram_free"] == 8192.0
    assert found["allocator/optimizer_mib"] == 2048.0


def test_a_resumed_run_continues_the_same_mlflow_run(mlflow, tmp_path):
    play("mlflow", info(tmp_path))
    play("mlflow", info(tmp_path))
    assert list(mlflow.server.runs) == ["run0"]


def test_a_resumed_run_that_mlflow_has_lost_is_a_new_one(mlflow, tmp_path):
    play("mlflow", info(tmp_path))
    mlflow.server.runs = {"other": mlflow.server.runs["run0"]}
    play("mlflow", info(tmp_path))
    assert list(mlflow.server.runs) == ["other", "run1"]
