"""The trainings run side by side, stop on request, and leave other files alone."""

import json
import time

import pytest

import pulseboard as pb
from pulseboard.core.errors import PulseboardError
from pulseboard.demo import processes
from pulseboard.demo.processes import Training, remove_old_runs, side_by_side
from pulseboard.demo.trainings import all_names


def test_trainings_end_with_the_block_and_their_runs_are_marked_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "_STOP_TIMEOUT_SECS", 300.0)  # a busy machine may be slow to stop them
    with side_by_side(directory=tmp_path, secs=600, seed=0) as trainings:
        assert [each.name for each in trainings] == all_names()
        deadline = time.monotonic() + 300
        log = pb.read(tmp_path)
        while [run.points > 20 for run in log.values()] != [True] * 4 and time.monotonic() < deadline:
            time.sleep(0.2)
            log.refresh()
        assert all(each.running for each in trainings)
    assert not any(each.running for each in trainings)
    assert [each.trouble for each in trainings] == [None] * 4
    for name in all_names():
        assert json.loads((tmp_path / name / "run.json").read_text())["status"] == "killed"


def test_a_failed_training_reports_its_error(tmp_path):
    (tmp_path / "file").touch()
    failing = Training("healthy", directory=tmp_path / "file", secs=0, seed=-1)
    while failing.running:
        time.sleep(0.05)
    assert "expected non-negative integer" in failing.trouble or "Not a directory" in failing.trouble
    failing.wait()


def test_the_runs_of_an_earlier_demo_are_replaced(tmp_path):
    with pb.init(dir=tmp_path, run_id="healthy", tags=["demo"], telemetry_secs=0) as run:
        run.log({"loss": 1.0})
    (tmp_path / "mine").mkdir()
    remove_old_runs(tmp_path)
    assert [path.name for path in tmp_path.glob("[!.]*")] == ["mine"]


@pytest.mark.parametrize("tags", [[], ["other"]])
def test_a_run_that_is_not_a_demo_is_kept_and_named(tmp_path, tags):
    with pb.init(dir=tmp_path, run_id="healthy", tags=tags, telemetry_secs=0) as run:
        run.log({"loss": 1.0})
    with pb.init(dir=tmp_path, run_id="collapsing", tags=["demo"], telemetry_secs=0) as run:
        run.log({"loss": 1.0})
    with pytest.raises(PulseboardError, match=r"--dir: .*healthy"):
        remove_old_runs(tmp_path)
    assert sorted(path.name for path in tmp_path.glob("[!.]*")) == ["collapsing", "healthy"]


def test_a_directory_without_a_run_is_kept_too(tmp_path):
    (tmp_path / "diverging").mkdir()
    with pytest.raises(PulseboardError, match="did not create"):
        remove_old_runs(tmp_path)
