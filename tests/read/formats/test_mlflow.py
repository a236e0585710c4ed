"""MLflow: its file store and its database, as MLflow itself writes them, and lines that are cut or wrong."""

import math
import os
import sqlite3
import subprocess
import sys

import pytest
from other_formats import levels, only_run, points, runs_of_other_formats, written

# In a process of its own: MLflow opens databases and sets warnings of the whole process.
_LOG = """
import sys, time
from mlflow import MlflowClient
client = MlflowClient(tracking_uri=sys.argv[1])
experiment = client.create_experiment("vision")
for name in ("first", "second", "second"):
    run = client.create_run(experiment, run_name=name).info.run_id
    for step in range(4):
        client.log_metric(run, "train/loss", 1 / (step + 1), timestamp=1700000000500 + 1000 * step, step=10 * step)
    client.log_metric(run, "bad", float("nan"), timestamp=1700000009000, step=3)
    client.log_metric(run, "bad", float("inf"), timestamp=1700000010000, step=4)
    client.log_param(run, "lr", 0.1)
"""


def logged(uri):
    quiet = {**os.environ, "MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}
    quiet["MLFLOW_ENABLE_ASYNC_LOGGING"] = "false"
    done = subprocess.run([sys.executable, "-c", _LOG, uri], capture_output=True, env=quiet, text=True, timeout=240)
    assert done.returncode == 0, done.stderr


def assert_is_the_run(run):
    assert points(run, "train/loss") == [(0, 1.0), (10, 0.5), (20, 1 / 3), (30, 0.25)]
    assert run.series("train/loss").wall_times.tolist() == [1700000000.5 + step for step in range(4)]
    assert points(run, "bad") == [(3, "nan"), (4, math.inf)]
    assert run.config()["lr"] == "0.1"
    assert run.notes() == []


def test_the_file_store_that_mlflow_writes(tmp_path):
    pytest.importorskip("mlflow")
    logged((tmp_path / "mlruns").as_uri())
    runs = runs_of_other_formats(tmp_path)
    assert len(runs) == 3
    for name, run in runs.items():
        assert run.format == "mlflow-files"
        assert name.startswith("mlruns/")
        assert name.count("/") == 2
        assert_is_the_run(run)
    # The same run by its own directory, and by that of its metrics.
    directory = tmp_path / name
    assert_is_the_run(only_run(directory))
    assert_is_the_run(only_run(directory / "metrics"))


def test_the_database_that_mlflow_writes(tmp_path):
    pytest.importorskip("mlflow")
    pytest.importorskip("sqlalchemy")
    path = tmp_path / "mlflow.db"
    logged(f"sqlite:///{path}")
    before = path.read_bytes()
    runs = runs_of_other_formats(tmp_path)
    assert len(runs) == 3
    assert "mlflow.db/vision/first" in runs
    assert sum(name.startswith("mlflow.db/vision/second ") for name in runs) == 2
    for run in runs.values():
        assert_is_the_run(run)
    assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["mlflow.db"]
    assert set(runs_of_other_formats(path)) == set(runs)


def test_a_damaged_database_is_noted(tmp_path):
    path = tmp_path / "mlflow.db"
    with sqlite3.connect(path) as database:
        database.execute("create table runs (run_uuid text, name text, experiment_id int, lifecycle_stage text)")
    database.close()
    run = only_run(path)
    assert levels(run) == ["damage"]
    data = path.read_bytes()
    assert levels(only_run(written(path, data[:5000] + b"\xff" * 3000))) == ["damage"]


def test_a_database_of_another_program_is_skipped(tmp_path):
    with sqlite3.connect(tmp_path / "things.db") as database:
        database.execute("create table things (name text)")
    database.close()
    assert runs_of_other_formats(tmp_path) == {}


def test_lines_of_old_versions_are_read_and_broken_ones_noted(tmp_path):
    metrics = tmp_path / "mlruns" / "0" / "abc" / "metrics"
    written(
        metrics / "loss", "1700000000000 2.5 0\n1700000001000 nan 1\nx y z\n1700000002000 1.5 2\n1700000003000 1.2 1"
    )
    written(metrics / "old", "1700000000000 2.5\n1700000001000 1.5\n")
    written(metrics / "deep" / "er", "1700000000000 -inf 4\n")
    run = runs_of_other_formats(tmp_path)["mlruns/0/abc"]
    assert points(run, "loss") == [(0, 2.5), (1, "nan"), (2, 1.5)]
    assert points(run, "old") == [(0, 2.5), (1, 1.5)]
    assert points(run, "deep/er") == [(4, -math.inf)]
    assert sorted(levels(run)) == ["damage", "info"]


def test_a_directory_that_is_only_named_metrics_is_skipped(tmp_path):
    written(tmp_path / "metrics" / "notes", "hello\n")
    (tmp_path / "empty" / "metrics").mkdir(parents=True)
    assert runs_of_other_formats(tmp_path) == {}
