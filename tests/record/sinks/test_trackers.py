"""What all sinks for experiment trackers have in common."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from record.fake_trackers import absent
from record.sinks.played_run import (
    WALL,
    info,
)

from pulseboard.core.errors import MissingPackage
from pulseboard.record import tracker
from pulseboard.record.sink_runner import SinkRunner
from pulseboard.record.sinks.aim import Aim
from pulseboard.record.sinks.mlflow import MLflow
from pulseboard.record.sinks.wandb import WandB


@pytest.mark.parametrize(("sink", "package"), [(WandB, "wandb"), (Aim, "aim"), (MLflow, "mlflow")])
def test_a_missing_package_is_named_with_the_extra_that_installs_it(sink, package, tmp_path, monkeypatch):
    with absent(monkeypatch, package), pytest.raises(MissingPackage, match=rf"pulseboard\[{package}\]") as raised:
        sink(info(tmp_path))
    assert raised.value.extra == package


def test_a_missing_package_drops_the_sink_with_one_message(tmp_path, monkeypatch, capsys):
    with absent(monkeypatch, "wandb"):
        runner = SinkRunner("wandb", info(tmp_path))
        runner.send("scalars", {"a": 1.0}, step=0, wall_time=WALL)
        runner.close(status="finished")
    assert capsys.readouterr().err.count("\n") == 1


def test_the_sinks_import_nothing_heavy_before_they_are_used():
    names = "['wandb', 'aim', 'mlflow', 'psutil', 'pynvml', 'numpy', 'torch', 'PIL']"
    program = (
        "import sys, pulseboard.record.sinks.wandb, pulseboard.record.sinks.aim, pulseboard.record.sinks.mlflow\n"
        f"import pulseboard.record.telemetry\nprint([n for n in {names} if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_config_is_sent_in_plain_types(tmp_path):
    config = tracker.plain(info(tmp_path).config)
    assert config == {"lr": 2e-4, "model": {"layers": 12}, "path": "/data", "sizes": [0, 1], "none": None}


def test_a_record_without_step_and_time_gets_step_0_and_now():
    assert tracker.step_of({"log": "gpu"}) == 0
    assert abs(tracker.wall_time_of({"log": "gpu"}) - time.time()) < 60


def test_a_directory_that_cannot_be_written_is_reported_once(tmp_path, capsys):
    (tmp_path / "run").write_text("a file where the directory should be")
    run = info(tmp_path / "run")
    tracker.keep_id(run, "x", sink="aim")
    tracker.keep_id(run, "x", sink="aim")
    assert tracker.earlier_id(run, sink="aim") is None
    assert capsys.readouterr().err.count("\n") == 1
