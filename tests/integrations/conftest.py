"""Settings of a run in the test's own directory, and the run read back."""

import json
import os

import pytest

import pulseboard as pb

# Set before any test imports Keras; torch is the only backend installed for tests.
os.environ.setdefault("KERAS_BACKEND", "torch")


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """Arguments of pulseboard.init. The frameworks leave their own files in the working directory."""
    monkeypatch.chdir(tmp_path)
    return {"dir": tmp_path / "runs", "telemetry_secs": 0, "strict": True}


@pytest.fixture
def recorded(tmp_path):
    """The only run, read back: its points by tag."""

    def read():
        (run,) = pb.read(tmp_path / "runs").values()
        series = {tag: run.series(tag) for tag in run.tags("scalar")}
        return {tag: list(zip(s.steps.tolist(), s.values.tolist(), strict=True)) for tag, s in series.items()}

    return read


@pytest.fixture
def run_json(tmp_path):
    """The run.json of the only run."""

    def read():
        (path,) = (tmp_path / "runs").glob("*/run.json")
        return json.loads(path.read_text())

    return read
