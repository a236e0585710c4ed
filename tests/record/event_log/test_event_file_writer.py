"""Nothing lost: jobs killed at any moment, disks that fill up, directories that vanish."""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

import pulseboard as pb
from pulseboard.core.plural import plural
from pulseboard.record.event_log.event_file_writer import EventFileWriter

# Starts a job for each line of its input. A job says that it is ready, and then the step of each call that returned.
# Jobs are forked, because importing everything for each of them takes longer than what is tested.
JOBS = """
import os, sys
import pulseboard as pb
import pulseboard.record.active_run, pulseboard.record.compat.training_run_logger
def log(directory, run_id):
    run = pb.init(dir=directory, run_id=run_id, telemetry_secs=0)
    logger = pb.TrainingRunLogger(str(run.directory / "training.json"), verbosity=-1)
    values = {f"metric/{i}": 0.0 for i in range(20)}
    os.write(1, b"ready %d\\n" % os.getpid())
    step = 0
    while True:
        for tag in values:
            values[tag] = float(step)
        run.log(values, step=step)
        logger.log_step(step, 0.0, 1024, 10, 1.0, float(step), 1e-3)
        os.write(1, b"%d\\n" % step)
        step += 1
for line in sys.stdin:
    job = os.fork()
    if job == 0:
        log(sys.argv[1], line.strip())
    os.waitpid(job, 0)
    os.write(1, b"\\ndead\\n")
"""


@pytest.mark.parametrize("kills", [40, pytest.param(200, marks=pytest.mark.long)])
def test_a_killed_job_loses_no_call_that_had_returned(tmp_path, kills):
    """SIGKILL at random moments: every call that had returned is read back, nothing is torn, the JSON log parses."""
    rng = random.Random(0)
    last_steps = []
    command = [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{JOBS}", str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as jobs:
        for n in range(kills):
            jobs.stdin.write(b"run%d\n" % n)
            jobs.stdin.flush()
            ready, job = jobs.stdout.readline().split()
            assert ready == b"ready"
            time.sleep(rng.uniform(0, 0.03))
            os.kill(int(job), signal.SIGKILL)
            lines = list(iter(jobs.stdout.readline, b"dead\n"))
            # The last line may have been cut.
            steps = [int(line) for line in b"".join(lines).split(b"\n")[:-2] if line]
            last_steps.append(steps[-1] if steps else -1)
        jobs.stdin.close()
    log = pb.read(tmp_path)
    assert max(last_steps) > 10, "the children were killed before they had logged anything worth losing"
    for n, last in enumerate(last_steps):
        run = log[f"run{n}"]
        assert [note for note in run.notes() if note.level != "info"] == []
        if last < 0:
            continue
        for tag in ("metric/0", "metric/19"):
            series = run.series(tag)
            assert series.steps.tolist() == list(range(len(series)))
            assert series.values.tolist() == [float(step) for step in series.steps]
            # One more may have been written than its caller lived to say.
            assert last + 1 <= len(series) <= last + 2
        records = json.loads((tmp_path / f"run{n}" / "training.json").read_text())
        steps = [record["step"] for record in records if record["log"] == "step"]
        assert steps == list(range(len(steps)))
        assert last + 1 <= len(steps) <= last + 2


def log_steps(file, steps):
    for step in steps:
        file.scalars({"x": float(step), "y": float(-step)}, step, 1000.0 + step, float)


def steps_in(directory):
    (run,) = pb.read(directory).values()
    assert [note for note in run.notes() if note.level != "info"] == []
    return run.series("x").steps.tolist()


@contextlib.contextmanager
def small_disk(tmp_path, *, size="256k"):
    """A tmpfs of a known size, which needs root."""
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)], capture_output=True, text=True
    )
    if made.returncode:
        pytest.skip(f"cannot mount a small tmpfs here: {made.stderr.strip()}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_is_reported_once_and_nothing_is_lost(tmp_path, capsys):
    with small_disk(tmp_path) as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(b"x" * 200_000)
        file = EventFileWriter(disk / "run")
        log_steps(file, range(5000))
        for _ in range(3):
            file.tick()
        stderr = capsys.readouterr().err
        assert stderr.count("Cannot write the log: No space left on device. Training continues") == 1
        ballast.unlink()
        file.tick()
        log_steps(file, range(5000, 5010))
        file.close()
        assert "The log is being written again." in capsys.readouterr().err
        assert steps_in(disk) == list(range(5010))


def test_records_that_do_not_fit_in_memory_are_counted(tmp_path, capsys):
    with small_disk(tmp_path, size="64k") as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(b"x" * 50_000)
        file = EventFileWriter(disk / "run", max_waiting_bytes=10_000)
        log_steps(file, range(3000))
        assert file.dropped_records > 2000
        ballast.unlink()
        file.tick()
        file.close()
        kept = steps_in(disk)
        assert len(kept) == 3000 - file.dropped_records
        assert f"Lost {plural(file.dropped_records, 'record')}, which did not fit in memory" in capsys.readouterr().err


def test_a_disk_that_stays_full_counts_everything_it_could_not_take(tmp_path, capsys):
    with small_disk(tmp_path, size="64k") as disk:
        (disk / "ballast").write_bytes(b"x" * 40_000)
        file = EventFileWriter(disk / "run", max_waiting_bytes=20_000)
        for start in range(0, 3000, 100):
            log_steps(file, range(start, start + 100))
            file.tick()  # takes a piece of the queue, and may write a part of a record
        file.close()
        kept = steps_in(disk)
        assert kept == list(range(len(kept)))
        assert len(kept) > 100
        assert len(kept) + file.dropped_records == 3000
        assert "of the log, which could not be written" in capsys.readouterr().err


def test_what_the_worker_has_taken_counts_as_waiting(tmp_path, capsys):
    with small_disk(tmp_path, size="64k") as disk:
        (disk / "ballast").write_bytes(b"x" * 61_000)
        file = EventFileWriter(disk / "run", max_waiting_bytes=20_000)
        for start in range(0, 3000, 100):
            log_steps(file, range(start, start + 100))
            file.tick()
            assert file._queue.queued_bytes + len(file._taken) <= 20_000 + 100  # one record more than the limit
        file.close()


def test_a_disk_that_turns_read_only_and_back_loses_nothing(tmp_path, capsys):
    with small_disk(tmp_path) as disk:
        file = EventFileWriter(disk / "run")
        log_steps(file, range(10))
        # An open file keeps a file system busy: a read-only bind of it would not touch the handle, so
        # the handle itself is made unable to write, as a remount after an I/O error does.
        real = file._fd
        broken = os.open(file.path, os.O_RDONLY)
        file._fd = broken
        file._queue.attach(broken, file._queue.offset)
        log_steps(file, range(10, 20))
        assert capsys.readouterr().err.count("Cannot write the log") == 1
        file._fd = real
        os.close(broken)
        file.tick()
        log_steps(file, range(20, 30))
        file.close()
        assert steps_in(disk) == list(range(30))


@pytest.mark.skipif(os.geteuid() != 0, reason="remounting needs root")
def test_records_wait_for_a_file_system_that_starts_read_only(tmp_path, capsys):
    with small_disk(tmp_path) as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        file = EventFileWriter(disk / "run")
        log_steps(file, range(10))
        assert "Cannot write the log: Read-only file system" in capsys.readouterr().err
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        file.tick()
        log_steps(file, range(10, 20))
        file.close()
        assert steps_in(disk) == list(range(20))


def test_a_removed_directory_is_created_again_with_everything_in_it(tmp_path, capsys):
    directory = tmp_path / "deep" / "run"
    file = EventFileWriter(directory)
    log_steps(file, range(10))
    shutil.rmtree(tmp_path / "deep")
    log_steps(file, range(10, 20))
    file.tick()
    log_steps(file, range(20, 30))
    file.close()
    assert steps_in(directory) == list(range(30))
    assert capsys.readouterr().err.count("was removed. It has been written again") == 1


def test_the_worker_writes_to_a_slow_file_system(tmp_path):
    file = EventFileWriter(tmp_path, buffered=True)
    log_steps(file, range(100))
    assert steps_in_or_none(tmp_path) == []
    file.tick()
    assert steps_in(tmp_path) == list(range(100))
    log_steps(file, range(100, 150))
    file.close()
    assert steps_in(tmp_path) == list(range(150))


def steps_in_or_none(directory):
    (run,) = pb.read(directory).values()
    return run.series("x").steps.tolist() if "x" in run.tags() else []


def test_the_file_is_synced_now_and_then(tmp_path, monkeypatch):
    synced = []
    clock = [0.0]
    monkeypatch.setattr(os, "fsync", synced.append)
    file = EventFileWriter(tmp_path, fsync_secs=30.0, clock=lambda: clock[0])
    for now in (0.0, 10.0, 29.0, 31.0, 32.0, 62.0):
        clock[0] = now
        file.tick()
    assert len(synced) == 2
    file.close()


def test_a_run_without_a_directory_does_not_stop_training(tmp_path, capsys):
    (tmp_path / "runs").write_text("a file where the directory should be")
    run = pb.init(dir=tmp_path / "runs", telemetry_secs=0)
    for step in range(10):
        run.log({"x": 1.0}, step=step)
    os.unlink(tmp_path / "runs")
    run.flush()
    run.finish()
    (got,) = pb.read(tmp_path / "runs").values()
    assert len(got.series("x")) == 10
    assert "Training continues" in capsys.readouterr().err
