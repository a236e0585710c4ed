"""Which run a process records: resuming, ids that exist, other processes, other directories, other clocks."""

import datetime
import fcntl
import json
import os
import socket
import subprocess
import sys
import time

import pytest
from ranks import run_ranks
from record.recorded_runs import begin, only, points, read

import pulseboard as pb
from pulseboard.record import liveness, run_directory
from pulseboard.record.run_directory import NoRunToResume, RunIsAlive
from pulseboard.record.setting import BadSetting
from pulseboard.rundir import layout

pytestmark = pytest.mark.early

TRAIN = """
import sys, time
import pulseboard as pb
run = pb.init(dir=sys.argv[1], telemetry_secs=0, strict=True, **eval(sys.argv[2]))
print(run.id, flush=True)
{body}
"""
LOG = "for step in range(3): run.log({'x': 1.0}, step=step)\n"


def start(tmp_path, name, arguments, body):
    """A training in its own process: a file `name`, so that it is a program of its own."""
    script, text = tmp_path / name, TRAIN.format(body=body)
    # Written once: a process that starts at the same time must not find the file half written.
    if not script.exists() or script.read_text() != text:
        script.write_text(text)
    return subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "runs"), repr(arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def trained(tmp_path, name, arguments=None, body=LOG):
    """Its run's id, and what it printed to stderr, after its end."""
    process = start(tmp_path, name, arguments or {}, body)
    stdout, stderr = process.communicate(timeout=300)
    return stdout.strip(), stderr


@pytest.fixture
def live(tmp_path):
    """Starts a training that goes on until the test is over; returns its run's id and the process."""
    processes = []

    def begin_live(name, **arguments):
        process = start(tmp_path, name, arguments, LOG + "print('logged', flush=True); sys.stdin.read()")
        processes.append(process)
        run_id = process.stdout.readline().strip()
        assert process.stdout.readline() == "logged\n"
        return run_id, process

    yield begin_live
    for process in processes:
        process.kill()
        process.communicate()


# ---------- resume="latest"


def test_the_latest_run_of_another_program_is_not_resumed(tmp_path, live):
    first, _ = trained(tmp_path, "mine.py")
    other, _ = live("other.py")
    assert first != other
    resumed, stderr = trained(tmp_path, "mine.py", {"resume": "latest"})
    assert resumed == first, stderr
    assert len(pb.read(tmp_path / "runs")[other].series("x")) == 3  # none of its points is hidden


def test_without_a_run_of_this_program_there_is_nothing_to_resume(tmp_path):
    other, _ = trained(tmp_path, "other.py")
    resumed, stderr = trained(tmp_path, "mine.py", {"resume": "latest"})
    assert resumed == ""
    assert f"Others are here ({other})" in stderr


def test_a_tag_decides_which_run_is_the_latest(tmp_path):
    small, _ = trained(tmp_path, "train.py", {"run_tag": "small"})
    large, _ = trained(tmp_path, "train.py", {"run_tag": "large"})
    assert trained(tmp_path, "another.py", {"run_tag": "small", "resume": "latest"})[0] == small != large


def test_a_live_run_of_the_same_command_is_refused_until_it_dies(tmp_path, live):
    run_id, process = live("train.py", resume="allow")
    resumed, stderr = trained(tmp_path, "train.py", {"resume": "allow"}, LOG + "print('logged', flush=True)\n")
    assert resumed == ""
    assert f"The run '{run_id}' is still being recorded, by process {process.pid}" in stderr
    process.kill()
    process.wait()
    resumed, stderr = trained(tmp_path, "train.py", {"resume": "latest"})
    assert resumed == run_id, stderr


def test_a_live_run_is_not_resumed_by_its_id_either(tmp_path, live):
    run_id, _ = live("train.py")
    with pytest.raises(RunIsAlive, match="is still being recorded"):
        begin(tmp_path, resume=run_id)


def test_a_run_of_this_process_is_finished_before_it_is_resumed(tmp_path):
    first = begin(tmp_path)
    first.log({"x": 1.0}, step=0)
    with begin(tmp_path, resume=first.id) as second:
        assert first.finished
        second.log({"x": 2.0}, step=1)
    assert points(read(tmp_path).series("x")) == [(0, 1.0), (1, 2.0)]


def foreign_run(tmp_path):
    """The run of a process that cannot be seen from here."""
    with begin(tmp_path, run_id="far") as run:
        path = run.directory / "run.json"
    fields = json.loads(path.read_text())
    path.write_text(json.dumps({**fields, "status": "running", "host": "far", "pid_space": "", "heartbeat": 1000.0}))
    return run.directory


def test_the_heartbeat_of_another_machine_is_watched(tmp_path):
    directory = foreign_run(tmp_path)
    path = directory / "run.json"

    def beat(seconds):
        path.write_text(path.read_text().replace("1000.0", "1010.0"))

    assert not liveness.is_recorded_elsewhere(directory, sleep=lambda seconds: None, clock=lambda: 1005.0)
    assert liveness.is_recorded_elsewhere(directory, sleep=beat, clock=lambda: 1005.0)


def test_an_old_heartbeat_is_not_waited_for(tmp_path):
    def sleep(seconds):
        raise AssertionError("it waited")

    assert not liveness.is_recorded_elsewhere(foreign_run(tmp_path), sleep=sleep, clock=lambda: 2000.0)


# ---------- ids


def test_allow_begins_a_run_and_then_continues_it(tmp_path):
    for start_step in (0, 3):
        with begin(tmp_path, run_id="stable", resume="allow") as run:
            assert run.id == "stable"
            for step in range(start_step, start_step + 3):
                run.log({"x": 1.0}, step=step)
    assert read(tmp_path).series("x").steps.tolist() == [0, 1, 2, 3, 4, 5]


def test_the_same_id_again_is_a_run_of_its_own(tmp_path, capsys):
    for value in (1.0, 2.0, 3.0):
        with begin(tmp_path, run_id="mine") as run:
            run.log({"x": value}, step=0)
    log = pb.read(tmp_path / "runs")
    assert {name: points(log[name].series("x")) for name in log} == {
        "mine": [(0, 1.0)],
        "mine-2": [(0, 2.0)],
        "mine-3": [(0, 3.0)],
    }
    assert "There is a run 'mine' already, so this one is 'mine-2'" in capsys.readouterr().err


def test_processes_that_want_the_same_id_at_once_get_different_ones(tmp_path):
    processes = [start(tmp_path, "train.py", {"run_id": "mine"}, LOG) for _ in range(4)]
    outputs = [process.communicate(timeout=300) for process in processes]
    ids = ["mine", "mine-2", "mine-3", "mine-4"]
    assert sorted(stdout.strip() for stdout, _ in outputs) == ids, [stderr for _, stderr in outputs]


def test_an_empty_directory_of_that_name_is_used(tmp_path):
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    with begin(tmp_path, run_id="mine") as run:
        assert run.id == "mine"


def test_words_of_other_trackers_say_what_to_resume(tmp_path):
    with begin(tmp_path, run_id="a", resume="never") as run:
        assert run.id == "a"
    with begin(tmp_path, run_id="a", resume="must") as run:
        assert run.id == "a"
    with begin(tmp_path, resume=True) as run:
        assert run.id == "a"
    with pytest.raises(NoRunToResume):
        begin(tmp_path, run_id="b", resume="must")


# ---------- ranks

RANKED = """
import sys
import torch.distributed as dist
import pulseboard as pb
dist.init_process_group("gloo")
first = int(sys.argv[2])
run = pb.init(dir=sys.argv[1], run_id="r", resume="allow", telemetry_secs=0, strict=True)
for step in range(first, first + 10):
    run.log({"loss": float(first)}, step=step)
    run.log({"rank/x": float(first)}, step=step, per_rank=True)
dist.barrier()
run.finish()
dist.destroy_process_group()
"""


def test_a_resumed_distributed_training_has_one_timeline_on_every_rank(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(RANKED)
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    for first in (0, 6):
        # The same port each time: the announcement of the first launch must not be taken for that of the second.
        done = run_ranks(script, tmp_path / "runs", first, processes=2, port=port, optimizes=False)
        assert done.returncode == 0, done.stderr[-2000:]
    run = only(pb.read(tmp_path / "runs"))
    want = [(step, 0.0 if step < 6 else 6.0) for step in range(16)]
    assert points(run.series("loss")) == want
    assert points(run.series("rank/x", rank=1)) == want


# ---------- the process and its surroundings


def test_a_training_that_changes_its_directory_keeps_its_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with pb.init(dir="runs", report_to=["tensorboard", "json"], telemetry_secs=0, strict=True) as run:
        os.chdir("elsewhere")
        run.log({"x": 1.0}, step=0)
        run.config.update({"lr": 0.1})
        run.histogram("h", [1.0, 2.0], step=0)
    fields = json.loads((run.directory / "run.json").read_text())
    assert (fields["status"], fields["config"]) == ("finished", {"lr": 0.1})
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert points(read(tmp_path).series("x")) == [(0, 1.0)]


@pytest.mark.parametrize(
    ("ending", "status", "code"),
    [
        ("sys.exit(1)", "failed", 1),
        ("sys.exit('out of data')", "failed", 1),
        ("sys.exit(0)", "finished", 0),
        ("sys.exit()", "finished", 0),
        ("import argparse; argparse.ArgumentParser().error('no')", "failed", 2),
        ("try:\n    sys.exit(3)\nexcept SystemExit:\n    run.log({'x': 1.0}, step=9)", "finished", 0),
    ],
)
def test_the_exit_code_decides_the_status(tmp_path, ending, status, code):
    process = start(tmp_path, "train.py", {}, LOG + ending)
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == code, stderr
    (path,) = (tmp_path / "runs").glob("*/run.json")
    assert json.loads(path.read_text())["status"] == status


def test_a_clock_that_was_set_back_leaves_one_timeline(tmp_path, monkeypatch):
    with begin(tmp_path) as run:
        for step in range(10):
            run.log({"x": 1.0}, step=step)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 7200)
    with begin(tmp_path, resume=run.id) as run:
        for step in range(6, 12):
            run.log({"x": 2.0}, step=step)
    got = read(tmp_path)
    assert points(got.series("x")) == [(step, 1.0 if step < 6 else 2.0) for step in range(12)]
    assert [restart.step for restart in got.restarts()] == [6]


@pytest.mark.parametrize("directory", ["s3://bucket/runs", "gs://bucket/runs", "ssh://host/runs"])
def test_a_remote_directory_is_refused_with_advice(tmp_path, monkeypatch, directory):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadSetting, match="Record there and copy it"):
        pb.init(dir=directory)
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_is_held_forever_does_not_hold_up_a_training(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run_directory, "_LOCK_SECS", 0.05)
    coordination = tmp_path / layout.COORDINATION_DIRECTORY
    coordination.mkdir()
    with open(coordination / "lock", "a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for number in (1, 2):
            path = run_directory.new_run_directory(tmp_path, run_id=None, run_tag=None, today=datetime.date(2026, 1, 2))
            assert path.name == f"2026-01-02_00{number}"
    assert "continuing without it" in capsys.readouterr().err


def test_a_pipe_in_place_of_the_lock_does_not_hold_up_a_training(tmp_path):
    (tmp_path / layout.COORDINATION_DIRECTORY).mkdir()
    os.mkfifo(tmp_path / layout.COORDINATION_DIRECTORY / "lock")
    path = run_directory.new_run_directory(tmp_path, run_id="a", run_tag=None, today=datetime.date(2026, 1, 2))
    assert path.name == "a"
