"""A poll costs what has changed, not what is there; and readers keep the order they began with."""

import os
import shutil

import pytest
from builders import event_file, scalars
from cost import bytecodes_of
from log_directories import append, values, write_run

import pulseboard as pb
from pulseboard.read.discovery import tree
from pulseboard.read.event_files import load
from pulseboard.read.event_files import runs as runs_module
from pulseboard.read.event_files.run import EventFileRun


def _bytes_read_by_this_process():
    with open("/proc/self/io") as stream:
        return int(stream.readline().split()[1])


@pytest.mark.skipif(not os.path.exists("/proc/self/io"), reason="needs /proc/self/io")
def test_a_poll_reads_only_the_new_bytes(tmp_path):
    path = write_run(tmp_path, *((step, 1.0) for step in range(20_000)))
    log = pb.read(tmp_path)
    new = event_file(*scalars("loss", *((step, 2.0) for step in range(20_000, 20_100))))
    with path.open("ab") as stream:
        stream.write(new)
    before = _bytes_read_by_this_process()
    log.poll()
    read = _bytes_read_by_this_process() - before
    assert len(log["."].series("loss")) == 20_100
    assert len(new) <= read < len(new) + 4096 < path.stat().st_size / 10


def test_polling_idle_runs_opens_no_file_and_no_directory(tmp_path, monkeypatch):
    for i in range(20):
        write_run(tmp_path / f"run{i}")
    for directory in (tmp_path, *tmp_path.iterdir()):
        os.utime(directory, (1e9, 1e9))  # long ago, as for runs that have ended
    log = pb.read(tmp_path)
    monkeypatch.setattr("os.scandir", lambda path: pytest.fail(f"scanned {path}"))
    monkeypatch.setattr(load.EventFile, "load", lambda file: pytest.fail(f"read {file.path}"))
    monkeypatch.setattr(runs_module, "load_files", lambda files, **_: pytest.fail(str(files)) if files else None)
    assert not log.poll()


def test_a_poll_of_a_path_scans_only_its_directory(tmp_path, monkeypatch):
    paths = [write_run(tmp_path / f"run{i}", (0, 1.0)) for i in range(5)]
    log = pb.read(tmp_path)
    append(paths[3], (1, 2.0))
    scanned = []
    scandir = os.scandir
    monkeypatch.setattr("os.scandir", lambda path: scanned.append(str(path)) or scandir(path))
    assert log.poll([str(paths[3])]).grown == ("run3",)
    assert scanned == [str(tmp_path / "run3")]


@pytest.mark.parametrize("where", ["one directory", "many directories given", "many files given"])
def test_a_poll_of_a_path_costs_the_same_among_many_runs(tmp_path, where):
    cost = {}
    for count in (1, 2000):
        root = tmp_path / f"{count:04}"
        paths = [write_run(root / f"run{i:04}", (0, 1.0)) for i in range(count)]
        given = {"one directory": [root], "many directories given": [path.parent for path in paths]}
        log = pb.read(*given.get(where, paths))
        append(paths[0], (1, 2.0))
        path = str(paths[0])
        cost[count] = bytecodes_of(lambda log=log, path=path: log.poll([path]))
        assert len(log) == count
        (run,) = [run for run in log.values() if run.files[0].path == path]
        assert values(run) == [1.0, 2.0]
    assert cost[2000] < 1.1 * cost[1]


def test_an_idle_poll_stats_each_directory_and_file_and_does_nothing_else(tmp_path, monkeypatch):
    for i in range(50):
        write_run(tmp_path / f"run{i}")
    for directory in (tmp_path, *tmp_path.iterdir()):
        os.utime(directory, (1e9, 1e9))
    log = pb.read(tmp_path)
    statted = []
    stat = os.stat
    monkeypatch.setattr("os.stat", lambda path, **options: statted.append(str(path)) or stat(path, **options))
    monkeypatch.setattr(EventFileRun, "update_after_load", lambda run: pytest.fail(f"updated {run.name}"))
    monkeypatch.setattr(tree, "FoundRun", lambda *_: pytest.fail("rebuilt a run"))
    assert not log.poll()
    assert sorted(statted) == sorted(map(str, [tmp_path, *tmp_path.rglob("*")]))


def test_a_run_that_grows_comes_first_and_the_others_keep_their_order(tmp_path):
    paths = {name: write_run(tmp_path / name, wall_time=1e6 * i) for i, name in enumerate("abcd")}
    log = pb.read(tmp_path)
    assert list(log) == ["d", "c", "b", "a"]
    for name, after in (("b", ["b", "d", "c", "a"]), ("a", ["a", "b", "d", "c"])):
        events = scalars("loss", (9, 9.0))
        events[0].wall_time = 1e9 + ord("z") - ord(name)
        with paths[name].open("ab") as stream:
            stream.write(event_file(*events))
        log.poll([str(paths[name])])
        assert list(log) == after


def test_iterating_over_runs_gives_those_of_one_moment(tmp_path):
    for name in "abc":
        write_run(tmp_path / name)
    log = pb.read(tmp_path)
    names = iter(log)
    first = next(names)
    write_run(tmp_path / "new", wall_time=1e9)
    shutil.rmtree(tmp_path / "c")
    log.poll()
    assert [first, *names] == ["a", "b", "c"]
    assert list(log) == ["new", "a", "b"]
