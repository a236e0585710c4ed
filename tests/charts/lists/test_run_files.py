"""The state of a run: from run.json, and from when its files last changed."""

import os
import time

import pytest
from log_directories import write_run

import pulseboard as pb
from pulseboard.charts.local import LocalCharts
from pulseboard.rundir.run_file import RunFileWriter


def a_run(directory, *, status=None, age_secs=0.0):
    write_run(directory, (0, 1.0), (1, 2.0))
    then = time.time() - age_secs
    if status is not None:
        RunFileWriter(directory).update(status=status, started=then, heartbeat=then)
    for path in directory.rglob("*"):
        os.utime(path, (then, then))


def state_of(charts):
    [summary] = charts.run_summaries()
    assert summary.live == (summary.state == "running")
    return summary.state


@pytest.mark.parametrize("status", ["finished", "failed", "killed"])
def test_a_run_that_ended_is_not_live_however_fresh_its_files_are(tmp_path, status):
    a_run(tmp_path / "r", status=status)
    assert state_of(LocalCharts(pb.read(tmp_path))) == status


def test_a_run_without_news_for_minutes_has_stalled(tmp_path):
    a_run(tmp_path / "r", status="running", age_secs=3600)
    assert state_of(LocalCharts(pb.read(tmp_path))) == "stalled"


@pytest.mark.parametrize(("age_secs", "state"), [(0, "running"), (3600, None)])
def test_without_run_json_only_the_files_tell(tmp_path, age_secs, state):
    a_run(tmp_path / "r", age_secs=age_secs)
    assert state_of(LocalCharts(pb.read(tmp_path))) == state


def test_a_state_that_changes_is_read_again(tmp_path):
    a_run(tmp_path / "r", status="running")
    charts = LocalCharts(pb.read(tmp_path))
    assert state_of(charts) == "running"
    RunFileWriter(tmp_path / "r").update(status="finished")
    assert state_of(charts) == "finished"
