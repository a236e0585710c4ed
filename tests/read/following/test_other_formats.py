"""Logs of other formats are followed as they grow, like event files."""

import json
import os
import threading
import time

import pytest
from cost import bytecodes_of
from log_directories import write_run
from other_formats import points, written

import pulseboard as pb
from pulseboard.core.series import Series
from pulseboard.read import format as formats
from pulseboard.read.format import RunData, reader

CSV = "step,loss\n0,2.5\n1,1.5\n"


def _append(path, text):
    with path.open("a") as stream:
        stream.write(text)


def test_a_row_that_is_added_is_found(tmp_path, catch_up):
    path = written(tmp_path / "a" / "log.csv", CSV)
    written(tmp_path / "b" / "log.csv", "step,loss\n0,9\n1,8\n")
    runs = pb.read(tmp_path)
    before = runs["b/log.csv"]
    _append(path, "2,0.5\n")
    assert catch_up(runs).grown == ("a/log.csv",)
    assert points(runs["a/log.csv"], "loss") == [(0, 2.5), (1, 1.5), (2, 0.5)]
    assert runs["b/log.csv"] is before
    assert not catch_up(runs)


def test_logs_that_come_and_go_are_runs_that_come_and_go(tmp_path, catch_up):
    write_run(tmp_path / "events")
    runs = pb.read(tmp_path)
    path = written(tmp_path / "new" / "train.log", "step 1: loss 2.0\nstep 2: loss 1.0\n")
    assert catch_up(runs).added == ("new/train.log",)
    path.unlink()
    assert catch_up(runs).removed == ("new/train.log",)
    assert list(runs) == ["events"]


def test_a_file_that_becomes_a_log_later_is_found_then(tmp_path, catch_up):
    path = written(tmp_path / "out.txt", "Loading the data\n")
    runs = pb.read(tmp_path)
    assert not runs
    _append(path, "".join(f"step {step}: loss {1 / (step + 1):.4f}\n" for step in range(5)))
    assert catch_up(runs).added == ("out.txt",)


def test_a_metric_that_grows_in_a_directory_of_metrics_is_found(tmp_path, catch_up):
    metric = written(tmp_path / "mlruns" / "0" / "abc" / "metrics" / "loss", "1700000000000 0.5 0\n")
    runs = pb.read(tmp_path)
    assert points(runs["mlruns/0/abc"], "loss") == [(0, 0.5)]
    _append(metric, "1700000001000 0.25 1\n")
    assert catch_up(runs).grown == ("mlruns/0/abc",)
    written(metric.with_name("acc"), "1700000001000 0.75 1\n")
    assert catch_up(runs).grown == ("mlruns/0/abc",)
    assert set(runs["mlruns/0/abc"].tags()) == {"loss", "acc"}


def test_of_several_checkpoints_the_one_with_the_last_step_is_the_run(tmp_path, catch_up):
    def save(step):
        history = [{"step": s, "loss": 1 / s} for s in range(1, step + 1)]
        written(
            tmp_path / "results" / f"checkpoint-{step}" / "trainer_state.json", json.dumps({"log_history": history})
        )

    save(2)
    runs = pb.read(tmp_path)
    assert runs["results"].last_step == 2
    save(4)
    assert catch_up(runs).grown == ("results",)
    assert runs["results"].last_step == 4


def test_a_poll_of_a_path_opens_no_other_log(tmp_path, monkeypatch):
    paths = [written(tmp_path / f"r{i}" / "log.csv", CSV.replace("2.5", f"{i + 3}")) for i in range(5)]
    runs = pb.read(tmp_path)
    read = []
    read_csv = formats._readers["csv"]
    monkeypatch.setitem(
        formats._readers,
        "csv",
        formats.Reader(
            **{
                **{name: getattr(read_csv, name) for name in read_csv.__slots__},
                "read": lambda path: read.append(path) or read_csv.read(path),
            }
        ),
    )
    _append(paths[2], "2,0\n")
    assert runs.poll([str(paths[2])]).grown == ("r2/log.csv",)
    assert read in ([], [str(paths[2])])


def test_readers_are_not_loaded_for_event_files_and_weights(tmp_path):
    import subprocess
    import sys

    write_run(tmp_path / "run")
    written(tmp_path / "run" / "model.pt", b"")
    written(tmp_path / "run" / "hparams.yaml", "lr: 1\n")
    code = (
        "import sys, pulseboard as pb; pb.read(sys.argv[1]);"
        "assert not [name for name in sys.modules if name.startswith('pulseboard.read.formats.')]"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)


@pytest.fixture
def tallies():
    """A reader of files that grow: one number per line. `tallies` lists how many bytes each update read."""
    sizes = []

    class Follower:
        def __init__(self):
            self._offset, self._values = 0, []

        def update(self, path):
            import numpy as np

            with open(path, "rb") as stream:
                stream.seek(self._offset)
                new = stream.read()
            new = new[: new.rfind(b"\n") + 1]
            sizes.append(len(new))
            self._offset += len(new)
            self._values += map(float, new.split())
            n = len(self._values)
            arrays = np.arange(n), np.full(n, np.nan), np.array(self._values), np.zeros(n, bool)
            return [RunData({"tally": Series("tally", *arrays)})]

    @reader(id="tally", files=("*.tally",), follow=Follower)
    def read_tally(path):
        return iter(Follower().update(path))

    yield sizes
    del formats._readers["tally"]


def test_a_reader_that_follows_reads_only_new_bytes(tmp_path, tallies):
    path = written(tmp_path / "a.tally", "1\n2\n")
    runs = pb.read(tmp_path)
    _append(path, "3\n4")
    assert runs.poll().grown == ("a.tally",)
    _append(path, "5\n")
    assert runs.poll([str(path)]).grown == ("a.tally",)
    assert points(runs["a.tally"], "tally") == [(0, 1.0), (1, 2.0), (2, 3.0), (3, 45.0)]
    assert tallies == [4, 2, 3]


def test_a_row_is_reported_within_a_second(tmp_path):
    path = written(tmp_path / "log.csv", CSV)
    runs = pb.read(tmp_path)
    stop, seen, arrived = threading.Event(), [], threading.Event()

    def work():
        for changes in runs.follow(stop=stop):
            seen.append(changes)
            arrived.set()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    fast = 0
    try:
        for step in range(2, 100):  # a busy machine delays some rows
            arrived.clear()
            began = time.monotonic()
            _append(path, f"{step},0.5\n")
            assert arrived.wait(120)
            fast += time.monotonic() - began < 1.0
            if fast == 3:
                break
    finally:
        stop.set()
        thread.join(120)
    assert all(changes.grown == ("log.csv",) for changes in seen)
    assert fast == 3


def test_a_run_of_event_files_costs_the_same_with_many_logs_elsewhere(tmp_path):
    costs = []
    for count in (5, 50):
        top = tmp_path / str(count)
        path = write_run(top / "events" / "deep" / "run", (0, 1.0))
        for i in range(count):
            written(top / "csv" / "logs" / f"r{i}" / "log.csv", CSV.replace("2.5", f"{i + 3}"))
        runs = pb.read(top)
        os.utime(path, (1e9, 1e9))
        costs.append(bytecodes_of(lambda path=path, runs=runs: runs.poll([str(path)])))
    assert costs[1] < 1.5 * costs[0]


def test_a_row_costs_the_same_however_many_logs_there_are(tmp_path):
    costs = []
    for count in (5, 50):
        for i in range(count):
            path = written(tmp_path / str(count) / f"r{i}" / "log.csv", CSV.replace("2.5", f"{i + 3}"))
        runs = pb.read(tmp_path / str(count))
        _append(path, "2,0.5\n")
        costs.append(bytecodes_of(lambda path=path, runs=runs: runs.poll([str(path)])))
        assert len(runs[f"r{count - 1}/log.csv"].series("loss")) == 3
    assert costs[1] < 1.2 * costs[0]


def test_a_reader_that_fails_costs_one_file(tmp_path):
    @reader(id="broken", files=("*.broken",))
    def read_broken(path):
        raise ZeroDivisionError("oh")

    try:
        written(tmp_path / "a.broken", "1\n")
        written(tmp_path / "log.csv", CSV)
        runs = pb.read(tmp_path)
        assert list(runs) == ["log.csv"]
        assert [(note.level, note.path) for note in runs.notes()] == [("unreadable", str(tmp_path / "a.broken"))]
        assert not runs.poll()
    finally:
        del formats._readers["broken"]
