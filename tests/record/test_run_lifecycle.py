"""Threads, forks, restarts, and the end of a process."""

import json
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import torch
from record.recorded_runs import begin, points, read

import pulseboard as pb
from pulseboard.record.run_directory import NoRunToResume

# ---------- many threads, forks, restarts


def test_threads_may_share_a_run(tmp_path):
    with begin(tmp_path) as run:

        def work(worker):
            for step in range(500):
                run.log({f"t{worker}": float(step), "shared": float(worker)}, step=step)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    got = read(tmp_path)
    assert got.notes() == []
    assert len(got.series("shared")) == 4000
    for n in range(8):
        assert points(got.series(f"t{n}")) == [(step, float(step)) for step in range(500)]


def test_a_value_that_logs_while_it_is_converted_is_safe(tmp_path):
    class Chatty:
        def __float__(self):
            run.log({"inner": 1.0}, step=0)
            return 2.0

    with begin(tmp_path) as run:
        run.log({"before": 0.0, "outer": Chatty(), "after": 3.0}, step=0)
    got = read(tmp_path)
    assert {tag: points(got.series(tag)) for tag in got.tags()} == {
        "inner": [(0, 1.0)],
        "before": [(0, 0.0)],
        "outer": [(0, 2.0)],
        "after": [(0, 3.0)],
    }


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_writes_its_own_file_and_leaves_the_parents_alone(tmp_path):
    with begin(tmp_path) as run:
        run.log({"parent": 1.0}, step=0)
        child = os.fork()
        if child == 0:
            try:
                run.log({"child": 5.0}, step=7)
                run.flush()
            finally:
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        run.log({"parent": 2.0}, step=1)
    got = read(tmp_path)
    assert got.notes() == []
    assert len(got.files) == 2
    assert points(got.series("parent")) == [(0, 1.0), (1, 2.0)]
    assert points(got.series("child")) == [(7, 5.0)]
    assert json.loads((run.directory / "run.json").read_text())["status"] == "finished"


def test_data_loader_workers_leave_no_trace(tmp_path):
    with begin(tmp_path) as run:
        data = torch.utils.data.DataLoader(torch.arange(8.0), batch_size=2, num_workers=2)
        for step, batch in enumerate(data):
            run.log({"mean": batch.mean()}, step=step)
    got = read(tmp_path)
    assert len(got.files) == 1
    assert len(got.series("mean")) == 4
    assert json.loads((run.directory / "run.json").read_text())["status"] == "finished"


def test_a_resumed_run_has_one_timeline(tmp_path):
    with begin(tmp_path, config={"lr": 1}) as first:
        for step in range(100):
            first.log({"loss": 1.0}, step=step)
    with begin(tmp_path, resume="latest", config={"seed": 2}) as second:
        assert second.directory == first.directory
        for step in range(80, 120):
            second.log({"loss": 2.0}, step=step)
    got = read(tmp_path)
    assert points(got.series("loss")) == [(s, 1.0 if s < 80 else 2.0) for s in range(120)]
    everything = got.series("loss", orphans=True)
    assert everything.orphaned.sum() == 20
    assert [restart.step for restart in got.restarts()] == [80]
    fields = json.loads((first.directory / "run.json").read_text())
    assert fields["config"] == {"lr": 1, "seed": 2}
    assert len(fields["resumed"]) == 1


def test_telemetry_and_media_do_not_decide_at_which_step_a_run_resumes(tmp_path):
    with begin(tmp_path) as first:
        for step in range(100):
            first.log({"loss": 1.0}, step=step)
    with begin(tmp_path, resume="latest", settings={"telemetry_secs": 0.01}) as second:
        time.sleep(0.2)
        second.hparams({"lr": 0.1})
        second.histogram("w", np.ones(3), step=80)
        second.flush()
        second.log({"loss": 2.0}, step=80)
    got = read(tmp_path)
    assert [restart.step for restart in got.restarts()] == [80]
    assert len(got.series("loss")) == 81
    assert [histogram.step for histogram in got.histograms("w")] == [80]


def test_resuming_by_id_and_resuming_a_missing_run(tmp_path):
    with pytest.raises(NoRunToResume, match="no run to resume yet"):
        begin(tmp_path, resume="latest")
    with begin(tmp_path, run_id="mine"):
        pass
    with begin(tmp_path, resume="mine") as run:
        assert run.id == "mine"
    with pytest.raises(NoRunToResume, match="Did you mean 'mine'"):
        begin(tmp_path, resume="min")


# ---------- the end of a process


SCRIPT = """
import sys, time
import pulseboard as pb
run = pb.init(dir=sys.argv[1], run_id="r", telemetry_secs=0)
run.log({"x": 1.0}, step=0)
"""


def run_script(tmp_path, ending, **named):
    return subprocess.run(
        [sys.executable, "-c", SCRIPT + ending, str(tmp_path / "runs")],
        capture_output=True,
        text=True,
        timeout=300,
        **named,
    )


@pytest.mark.parametrize(
    ("ending", "status", "code"),
    [
        ("", "finished", 0),
        ("raise ValueError('boom')", "failed", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM); time.sleep(30)", "killed", -15),
    ],
)
def test_the_status_tells_how_the_process_ended(tmp_path, ending, status, code):
    done = run_script(tmp_path, ending)
    assert done.returncode == code, done.stderr
    assert json.loads((tmp_path / "runs" / "r" / "run.json").read_text())["status"] == status
    assert points(read(tmp_path).series("x")) == [(0, 1.0)]


def test_a_job_that_handles_sigterm_itself_keeps_doing_so(tmp_path):
    script = "import os, signal\nsignal.signal(signal.SIGTERM, lambda *a: print('mine'))\n" + SCRIPT
    script += "os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(0.1)\n"
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "runs")], capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, "mine\n")


def test_finishing_twice_and_logging_after_are_harmless(tmp_path):
    run = begin(tmp_path, settings={"strict": False})
    run.log({"x": 1.0}, step=0)
    run.finish()
    run.finish()
    run.log({"x": 2.0}, step=1)
    assert points(read(tmp_path).series("x")) == [(0, 1.0)]


def test_a_run_resumed_within_the_same_second_is_read_in_order(tmp_path):
    for resume in (None, "latest", "latest"):
        run = pb.init(
            dir=tmp_path, run_id="a" if resume is None else None, resume=resume, strict=True, telemetry_secs=0
        )
        run.log({"loss": 1.0}, step=run.last_step + 1)
        run.finish()
    names = sorted(path.name for path in tmp_path.rglob("*tfevents*"))
    times = [int(name.split(".")[3]) for name in names]
    assert len(set(times)) == 3
