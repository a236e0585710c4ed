"""Following: a log that is kept up to date says at every moment what a fresh look would say."""

import gzip
import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from builders import event_file, scalars, session_start, version
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from log_directories import all_of, append, values, write_run

import pulseboard as pb
from pulseboard.files import mounts
from pulseboard.read import follow, load
from pulseboard.read.discover import roots_of
from pulseboard.read.log import Changes, Log

# What a test waits for comes within moments; this only ends a test that would hang.
PATIENCE_SECS = 20


def caught_up(log):
    """Whether the followed log says what a fresh look says."""
    return all_of(log) == all_of(pb.read(*(root.path for root in log.roots)))


@pytest.fixture(params=["poll", "refresh"])
def catch_up(request):
    """Either way to ask for news."""
    return lambda log: getattr(log, request.param)()


# ---- one file


def test_appended_records_are_picked_up(tmp_path, catch_up):
    path = write_run(tmp_path / "exp", (0, 1.0))
    log = pb.read(tmp_path)
    append(path, (1, 2.0), (2, 3.0))
    assert catch_up(log).grown == ("exp",)
    assert values(log["exp"]) == [1.0, 2.0, 3.0]


def test_nothing_new_is_told_as_nothing(tmp_path, catch_up):
    write_run(tmp_path / "exp", (0, 1.0))
    log = pb.read(tmp_path)
    changes = catch_up(log)
    assert not changes
    assert (changes.added, changes.removed, changes.grown) == ((), (), ())


def test_a_run_object_stays_the_same_while_it_grows(tmp_path, catch_up):
    path = write_run(tmp_path / "exp", (0, 1.0))
    log = pb.read(tmp_path)
    run = log["exp"]
    append(path, (1, 2.0))
    catch_up(log)
    assert log["exp"] is run
    assert values(run) == [1.0, 2.0]


def test_a_file_that_grows_byte_by_byte_is_whole_at_every_record(tmp_path):
    events = [version(), *scalars("loss", (0, 1.0), (1, 2.0)), session_start(1), *scalars("loss", (1, 3.0))]
    data = event_file(*events)
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(b"")
    log = pb.read(tmp_path)
    for end in range(1, len(data) + 1):
        with path.open("ab") as stream:
            stream.write(data[end - 1 : end])
        log.poll()
        if end % 7 == 0 or end == len(data):
            assert caught_up(log), f"after {end} bytes"
    assert values(log["."]) == [1.0, 3.0]
    assert log.notes() == []


def test_a_record_cut_inside_waits_for_its_rest(tmp_path, catch_up):
    path = write_run(tmp_path, (0, 1.0))
    data = event_file(*scalars("loss", (1, 2.0)))
    log = pb.read(tmp_path)
    for cut in (3, 10, 20, len(data) - 1):
        with path.open("r+b") as stream:
            stream.seek(0, os.SEEK_END)
            stream.write(data[:cut])
        catch_up(log)
        assert values(log["."]) == [1.0]
        (note,) = log.notes()
        assert note.level == "info"
        assert "not whole" in note.what
        os.truncate(path, path.stat().st_size - cut)
    with path.open("ab") as stream:
        stream.write(data)
    catch_up(log)
    assert values(log["."]) == [1.0, 2.0]
    assert log.notes() == []


def test_a_truncated_file_is_read_anew(tmp_path, catch_up):
    path = write_run(tmp_path, (0, 1.0), (1, 2.0), (2, 3.0))
    log = pb.read(tmp_path)
    os.truncate(path, len(event_file(version(), *scalars("loss", (0, 1.0)))))
    assert catch_up(log).grown == (".",)
    assert values(log["."]) == [1.0]
    append(path, (5, 6.0))
    catch_up(log)
    assert values(log["."]) == [1.0, 6.0]


def test_a_file_cut_to_nothing_is_an_empty_run(tmp_path, catch_up):
    path = write_run(tmp_path, (0, 1.0))
    log = pb.read(tmp_path)
    os.truncate(path, 0)
    catch_up(log)
    assert log["."].points == 0
    assert caught_up(log)


@pytest.mark.parametrize("more", [0, 1, 3])
def test_a_file_replaced_under_its_name_is_read_anew(tmp_path, catch_up, more):
    path = write_run(tmp_path, (0, 1.0), (1, 2.0))
    log = pb.read(tmp_path)
    other = write_run(tmp_path / "other", *((i, 10.0 + i) for i in range(1 + more)), tag="accuracy")
    os.replace(other, path)
    catch_up(log)
    assert log["."].tags() == ["accuracy"]
    assert caught_up(log)


def test_a_file_replaced_by_one_of_the_same_length_is_read_anew(tmp_path, catch_up):
    path = write_run(tmp_path, (0, 1.0), (1, 2.0))
    log = pb.read(tmp_path)
    assert log["."].tags() == ["loss"]
    os.replace(write_run(tmp_path / "other", (0, 3.0), (1, 4.0), tag="gain"), path)
    catch_up(log)
    assert log["."].tags() == ["gain"]
    assert values(log["."], "gain") == [3.0, 4.0]


@pytest.mark.parametrize("points", [1, 2, 3, 9])
def test_a_file_rewritten_in_place_is_read_anew(tmp_path, catch_up, points):
    path = write_run(tmp_path, (0, 1.0), (1, 2.0))
    log = pb.read(tmp_path)
    write_run(tmp_path, *((i, 10.0 + i) for i in range(points)))
    os.utime(path, (5, 5))
    catch_up(log)
    assert values(log["."]) == [10.0 + i for i in range(points)]


def test_a_deleted_file_takes_its_points_along(tmp_path, catch_up):
    write_run(tmp_path, (0, 1.0))
    second = write_run(tmp_path, (1, 2.0), name="events.out.tfevents.2")
    log = pb.read(tmp_path)
    assert values(log["."]) == [1.0, 2.0]
    second.unlink()
    assert catch_up(log).grown == (".",)
    assert values(log["."]) == [1.0]


def test_a_file_deleted_and_made_again_is_the_new_one(tmp_path, catch_up):
    path = write_run(tmp_path, (0, 1.0), (1, 2.0))
    log = pb.read(tmp_path)
    path.unlink()
    write_run(tmp_path, (0, 7.0))
    catch_up(log)
    assert values(log["."]) == [7.0]


def test_a_renamed_file_keeps_its_columns(tmp_path, catch_up):
    path = write_run(tmp_path, (0, 1.0))
    log = pb.read(tmp_path)
    columns = log["."].files[0].log
    path.rename(tmp_path / "events.out.tfevents.9")
    catch_up(log)
    assert log["."].files[0].log is columns
    assert caught_up(log)


def test_a_second_writer_joins_the_run(tmp_path, catch_up):
    write_run(tmp_path / "exp", (0, 1.0))
    log = pb.read(tmp_path)
    write_run(tmp_path / "exp", (1, 2.0), name="events.out.tfevents.2")
    assert catch_up(log).grown == ("exp",)
    assert values(log["exp"]) == [1.0, 2.0]


def test_a_file_before_one_without_a_version_record_changes_what_that_one_orphans(tmp_path, catch_up):
    first = tmp_path / "events.out.tfevents.1"
    first.write_bytes(event_file(version()))
    (tmp_path / "events.out.tfevents.2").write_bytes(event_file(*scalars("loss", (5, 1.0), (3, 2.0))))
    log = pb.read(tmp_path)
    assert values(log["."]) == [1.0, 2.0]  # the version record of the first file is in force
    first.unlink()
    catch_up(log)
    assert values(log["."]) == [2.0]
    first.write_bytes(event_file(version()))
    catch_up(log)
    assert values(log["."]) == [1.0, 2.0]
    first.write_bytes(event_file(version("brain.Event:1")))
    os.utime(first, (5, 5))
    catch_up(log)
    assert values(log["."]) == [2.0]


# ---- directories


def test_a_new_run_is_found(tmp_path, catch_up):
    write_run(tmp_path / "a", wall_time=0)
    log = pb.read(tmp_path)
    write_run(tmp_path / "b", (0, 2.0), wall_time=100)
    assert catch_up(log).added == ("b",)
    assert list(log) == ["b", "a"]


def test_a_run_in_new_directories_below_new_directories_is_found(tmp_path, catch_up):
    log = pb.read(tmp_path)
    write_run(tmp_path / "x" / "y" / "z", (0, 2.0))
    assert catch_up(log).added == ("x/y/z",)
    write_run(tmp_path / "x" / "y" / "v" / "w")
    assert catch_up(log).added == ("x/y/v/w",)


def test_a_directory_that_becomes_a_run_later_is_found(tmp_path, catch_up):
    (tmp_path / "x" / "y").mkdir(parents=True)
    log = pb.read(tmp_path)
    assert not catch_up(log)
    write_run(tmp_path / "x" / "y")
    assert catch_up(log).added == ("x/y",)


def test_a_log_directory_that_comes_back_is_found_again(tmp_path, catch_up):
    root = tmp_path / "runs"
    write_run(root / "exp", (0, 1.0))
    log = pb.read(root)
    shutil.rmtree(root)
    assert catch_up(log).removed == ("exp",)
    assert len(log) == 0
    write_run(root / "exp", (0, 2.0))
    assert catch_up(log).added == ("exp",)
    assert values(log["exp"]) == [2.0]


def test_a_renamed_directory_is_a_run_by_its_new_name_and_nothing_is_read_again(tmp_path, catch_up, monkeypatch):
    write_run(tmp_path / "old" / "run", (0, 1.0))
    log = pb.read(tmp_path)
    monkeypatch.setattr("pulseboard.read.log.load_files", lambda files, **_: pytest.fail(str(files)) if files else None)
    (tmp_path / "old").rename(tmp_path / "new")
    changes = catch_up(log)
    assert (changes.added, changes.removed) == (("new/run",), ("old/run",))
    monkeypatch.undo()
    assert caught_up(log)


def test_a_removed_directory_takes_its_runs_along(tmp_path, catch_up):
    write_run(tmp_path / "keep")
    write_run(tmp_path / "drop" / "a")
    write_run(tmp_path / "drop" / "b")
    log = pb.read(tmp_path)
    shutil.rmtree(tmp_path / "drop")
    assert sorted(catch_up(log).removed) == ["drop/a", "drop/b"]
    assert list(log) == ["keep"]


def test_a_run_json_that_comes_later_shortens_the_name(tmp_path, catch_up):
    write_run(tmp_path / "exp" / "logs" / "tensorboard", (0, 1.0))
    log = pb.read(tmp_path)
    (tmp_path / "exp" / "run.json").write_text("{}")
    changes = catch_up(log)
    assert (changes.added, changes.removed) == (("exp",), ("exp/logs/tensorboard",))
    assert caught_up(log)


def test_a_name_that_goes_over_to_another_directory_is_told(tmp_path, catch_up):
    write_run(tmp_path / "exp" / "logs" / "tensorboard", (0, 1.0))
    (tmp_path / "exp" / "run.json").write_text("{}")
    log = pb.read(tmp_path)
    write_run(tmp_path / "exp", (0, 2.0))
    changes = catch_up(log)
    assert (changes.added, changes.grown) == (("exp/logs/tensorboard",), ("exp",))
    assert values(log["exp"]) == [2.0]


def test_a_rank_that_comes_later_joins_its_run_and_goes_again(tmp_path, catch_up):
    write_run(tmp_path / "exp" / "logs" / "tensorboard", (0, 1.0))
    (tmp_path / "exp" / "run.json").write_text("{}")
    log = pb.read(tmp_path)
    assert "exp/ranks/3" not in log
    path = write_run(tmp_path / "exp" / "ranks" / "3", (0, 2.0))
    assert catch_up(log) == Changes(grown=("exp",))
    rank = log["exp/ranks/3"]
    assert values(rank) == [2.0]
    append(path, (1, 3.0))
    assert catch_up(log) == Changes(grown=("exp",))
    assert log["exp/ranks/3"] is rank is log["exp"].ranks[3]
    assert values(rank) == [2.0, 3.0]
    shutil.rmtree(path.parent)
    assert catch_up(log) == Changes(grown=("exp",))
    assert "exp/ranks/3" not in log
    assert caught_up(log)


def test_ranks_without_the_run_json_are_runs_until_it_comes(tmp_path):
    """Only the directory with the run.json is looked at, and the names of those below change."""
    write_run(tmp_path / "exp" / "logs" / "tensorboard", (0, 1.0))
    write_run(tmp_path / "exp" / "ranks" / "1", (0, 2.0))
    log = pb.read(tmp_path)
    run_file = tmp_path / "exp" / "run.json"
    run_file.write_text("{}")
    changes = log.poll([str(run_file)])
    assert changes.added == ("exp",)
    assert sorted(changes.removed) == ["exp/logs/tensorboard", "exp/ranks/1"]
    run_file.unlink()
    changes = log.poll([str(run_file)])
    assert sorted(changes.added) == ["exp/logs/tensorboard", "exp/ranks/1"]
    assert changes.removed == ("exp",)
    assert caught_up(log)


def test_a_name_that_two_directories_claim_goes_to_the_other_when_one_goes(tmp_path, catch_up):
    write_run(tmp_path / "one" / "b" / "c", (0, 1.0))
    write_run(tmp_path / "two" / "c", (0, 2.0))
    log = pb.read(f"x:{tmp_path / 'one'}", f"x/b:{tmp_path / 'two'}")
    assert {name: values(run) for name, run in log.items()} == {"x/b/c": [2.0]}
    shutil.rmtree(tmp_path / "two" / "c")
    assert catch_up(log) == Changes(grown=("x/b/c",))
    assert values(log["x/b/c"]) == [1.0]
    write_run(tmp_path / "two" / "c", (0, 3.0))
    assert catch_up(log) == Changes(grown=("x/b/c",))
    assert values(log["x/b/c"]) == [3.0]


def test_roots_inside_one_another_share_their_files(tmp_path, catch_up):
    path = write_run(tmp_path / "a" / "b", (0, 1.0))
    log = pb.read(tmp_path, tmp_path / "a")
    assert len(log) == 2
    append(path, (1, 2.0))
    assert sorted(catch_up(log).grown) == sorted(log)
    assert [values(run) for run in log.values()] == [[1.0, 2.0]] * 2


def test_a_directory_that_took_the_place_of_another_is_read_to_its_depths(tmp_path):
    """Whoever is told of a renamed directory is told of it alone, not of what lies below."""
    write_run(tmp_path / "a" / "same" / "x", (0, 1.0))
    write_run(tmp_path / "b" / "same" / "y", (0, 2.0))
    log = pb.read(tmp_path)
    (tmp_path / "a").rename(tmp_path / "old")
    (tmp_path / "b").rename(tmp_path / "a")
    log.poll([str(tmp_path / name) for name in ("a", "b", "old")])
    assert set(log) == {"a/same/y", "old/same/x"}
    assert caught_up(log)


@pytest.mark.parametrize("target", ["directory", "file"])
def test_what_a_link_leads_to_may_come_and_go(tmp_path, target):
    root = tmp_path / "runs"
    path = tmp_path / "elsewhere" / "events.out.tfevents.1"
    if target == "file":
        (root / "exp").mkdir(parents=True)
        (root / "exp" / path.name).symlink_to(path)
    else:
        root.mkdir()
        (root / "exp").symlink_to(path.parent)

    def at_rest():
        for directory in (root, root / "exp"):
            if directory.is_dir():
                os.utime(directory, (1e9, 1e9))  # the times say nothing of it

    at_rest()
    log = pb.read(root)
    for value in (1.0, 2.0):
        write_run(path.parent, (0, value))
        at_rest()
        log.poll()
        assert values(log["exp"]) == [value]
        shutil.rmtree(path.parent)
        at_rest()
        log.poll()
        log.poll()  # the first saw only that something went
        assert caught_up(log)
        assert not log["exp"].files if target == "file" else "exp" not in log


def test_a_single_file_is_followed_too(tmp_path, catch_up):
    path = write_run(tmp_path, (0, 1.0))
    log = pb.read(path)
    append(path, (1, 2.0))
    assert catch_up(log).grown == (path.name,)
    path.unlink()
    assert catch_up(log).removed == (path.name,)


def test_a_file_made_in_the_very_moment_of_a_look_is_found_by_the_next(tmp_path):
    """File systems tell time in ticks; a directory can change twice in one."""
    write_run(tmp_path / "exp", (0, 1.0))
    log = pb.read(tmp_path)
    tick = (tmp_path / "exp").stat().st_mtime_ns
    write_run(tmp_path / "exp", (1, 2.0), name="events.out.tfevents.2")
    os.utime(tmp_path / "exp", ns=(tick, tick))
    log.poll()
    assert values(log["exp"]) == [1.0, 2.0]


def test_a_directory_that_opens_up_is_read_and_its_note_goes(tmp_path, monkeypatch):
    write_run(tmp_path / "exp", (0, 1.0))
    closed = True
    scandir = os.scandir

    def guarded(path):
        if closed and str(path).endswith("exp"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr("os.scandir", guarded)
    log = pb.read(tmp_path)
    assert [note.path for note in log.notes()] == [str(tmp_path / "exp")]
    closed = False
    (tmp_path / "another").mkdir()
    log.poll()
    assert values(log["exp"]) == [1.0]
    assert log.notes() == []


def test_the_note_on_a_link_that_was_left_out_goes_with_the_link(tmp_path, catch_up):
    write_run(tmp_path / "elsewhere")
    write_run(tmp_path / "runs" / "exp")
    link = tmp_path / "runs" / "exp" / "out"
    link.symlink_to(tmp_path / "elsewhere")
    log = Log(roots_of([tmp_path / "runs"], links_out=False))
    catch_up(log)
    assert [note.path for note in log.notes()] == [str(link)]
    catch_up(log)
    assert [note.path for note in log.notes()] == [str(link)]
    link.unlink()
    catch_up(log)
    assert log.notes() == []
    assert list(log) == ["exp"]


# ---- what it costs


def _bytes_read_by_this_process():
    with open("/proc/self/io") as stream:
        return int(stream.readline().split()[1])


@pytest.mark.skipif(not os.path.exists("/proc/self/io"), reason="counts the bytes that Linux says were read")
def test_a_look_reads_the_new_bytes_and_no_more(tmp_path):
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


def test_an_idle_log_opens_no_file_and_no_directory(tmp_path, monkeypatch):
    for i in range(20):
        write_run(tmp_path / f"run{i}")
    for directory in (tmp_path, *tmp_path.iterdir()):
        os.utime(directory, (1e9, 1e9))  # long ago, as it is in a log at rest
    log = pb.read(tmp_path)
    monkeypatch.setattr("os.scandir", lambda path: pytest.fail(f"looked into {path}"))
    monkeypatch.setattr(load.EventFile, "load", lambda file: pytest.fail(f"read {file.path}"))
    monkeypatch.setattr("pulseboard.read.log.load_files", lambda files, **_: pytest.fail(str(files)) if files else None)
    assert not log.poll()


def test_a_look_where_something_changed_looks_nowhere_else(tmp_path, monkeypatch):
    paths = [write_run(tmp_path / f"run{i}", (0, 1.0)) for i in range(5)]
    log = pb.read(tmp_path)
    append(paths[3], (1, 2.0))
    looked = []
    scandir = os.scandir
    monkeypatch.setattr("os.scandir", lambda path: looked.append(str(path)) or scandir(path))
    assert log.poll([str(paths[3])]).grown == ("run3",)
    assert looked == [str(tmp_path / "run3")]


def _steps_of(work):
    """How many bytecodes Python runs through: what the work costs, whatever else the machine does."""
    count = 0

    def step(frame, event, _):
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("where", ["one directory", "many directories given", "many files given"])
def test_a_look_where_something_changed_costs_the_same_among_many_runs(tmp_path, where):
    steps = {}
    for count in (1, 2000):
        root = tmp_path / f"{count:04}"
        paths = [write_run(root / f"run{i:04}", (0, 1.0)) for i in range(count)]
        given = {"one directory": [root], "many directories given": [path.parent for path in paths]}
        log = pb.read(*given.get(where, paths))
        append(paths[0], (1, 2.0))
        path = str(paths[0])
        steps[count] = _steps_of(lambda log=log, path=path: log.poll([path]))
        assert len(log) == count
        (run,) = [run for run in log.values() if run.files[0].path == path]
        assert values(run) == [1.0, 2.0]
    assert steps[2000] < 1.1 * steps[1]


def test_an_idle_look_is_one_at_each_directory_and_file_and_nothing_else(tmp_path, monkeypatch):
    for i in range(50):
        write_run(tmp_path / f"run{i}")
    for directory in (tmp_path, *tmp_path.iterdir()):
        os.utime(directory, (1e9, 1e9))
    log = pb.read(tmp_path)
    looked = []
    stat = os.stat
    monkeypatch.setattr("os.stat", lambda path, **options: looked.append(str(path)) or stat(path, **options))
    monkeypatch.setattr("pulseboard.read.log.Run.settle", lambda run: pytest.fail(f"settled {run.name}"))
    monkeypatch.setattr("pulseboard.read.tree.FoundRun", lambda *_: pytest.fail("made a run anew"))
    assert not log.poll()
    assert sorted(looked) == sorted(map(str, [tmp_path, *tmp_path.rglob("*")]))


def test_a_run_that_moves_comes_first_and_the_others_keep_their_order(tmp_path):
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


def test_whoever_goes_over_the_runs_goes_over_those_of_one_moment(tmp_path):
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


# ---- waiting for changes


class Follower:
    """Follows a log in a thread and keeps what it is told."""

    def __init__(self, log, **options):
        self.log, self.told, self.stop = log, [], threading.Event()
        self.failed = None
        self.thread = threading.Thread(target=self._run, kwargs=options, daemon=True)

    def _run(self, **options):
        try:
            for changes in self.log.follow(stop=self.stop, **options):
                assert changes
                self.told.append(changes)
        except BaseException as error:
            self.failed = error

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join(PATIENCE_SECS)
        assert not self.thread.is_alive()
        assert self.failed is None

    def until(self, condition):
        """Wait for the condition, which looks at the log."""
        deadline = time.monotonic() + PATIENCE_SECS
        while not condition():
            assert self.failed is None, self.failed
            assert time.monotonic() < deadline, f"waited in vain; was told {self.told}"
            time.sleep(0.01)


@pytest.fixture(params=["events", "looking"])
def waiting(request, monkeypatch):
    """Followers that are told by the file system, and followers that must look for themselves."""
    monkeypatch.setattr(mounts, "is_local", lambda path: request.param == "events")
    return lambda log: Follower(log, every_secs=0.02 if request.param == "looking" else 1000)


def test_changes_come_by_themselves(tmp_path, waiting):
    path = write_run(tmp_path / "a", (0, 1.0))
    log = pb.read(tmp_path)
    with waiting(log) as follower:
        append(path, (1, 2.0))
        follower.until(lambda: values(log["a"]) == [1.0, 2.0])
        write_run(tmp_path / "b" / "c", (0, 3.0))
        follower.until(lambda: "b/c" in log and values(log["b/c"]) == [3.0])
        append(tmp_path / "b" / "c" / path.name, (1, 4.0))
        follower.until(lambda: values(log["b/c"]) == [3.0, 4.0])
        shutil.rmtree(tmp_path / "a")
        follower.until(lambda: "a" not in log)
    assert caught_up(log)
    assert {name for changes in follower.told for name in changes.added} == {"b/c"}
    assert {name for changes in follower.told for name in changes.removed} == {"a"}


def test_a_rename_and_a_replacement_come_by_themselves(tmp_path, waiting):
    path = write_run(tmp_path / "a", (0, 1.0))
    log = pb.read(tmp_path)
    with waiting(log) as follower:
        (tmp_path / "a").rename(tmp_path / "b")
        follower.until(lambda: list(log) == ["b"])
        os.replace(write_run(tmp_path / "staging", (0, 9.0), (1, 8.0), name="new"), tmp_path / "b" / path.name)
        follower.until(lambda: values(log["b"]) == [9.0, 8.0])
        os.truncate(tmp_path / "b" / path.name, 0)
        follower.until(lambda: log["b"].points == 0)


def test_what_lies_behind_a_link_is_followed(tmp_path, waiting):
    path = write_run(tmp_path / "elsewhere", (0, 1.0))
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "linked").symlink_to(tmp_path / "elsewhere")
    log = pb.read(tmp_path / "runs")
    with waiting(log) as follower:
        append(path, (1, 2.0))
        follower.until(lambda: values(log["linked"]) == [1.0, 2.0])


def test_a_run_and_a_link_to_it_are_followed_both(tmp_path, waiting):
    path = write_run(tmp_path / "exp", (0, 1.0))
    (tmp_path / "a_link").symlink_to("exp")
    log = pb.read(tmp_path)
    with waiting(log) as follower:
        append(path, (1, 2.0))
        follower.until(lambda: values(log["exp"]) == values(log["a_link"]) == [1.0, 2.0])
        append(path, (2, 3.0))
        follower.until(lambda: values(log["exp"]) == values(log["a_link"]) == [1.0, 2.0, 3.0])
    assert caught_up(log)


def test_a_look_at_one_path_of_a_file_serves_its_other_paths(tmp_path):
    path = write_run(tmp_path / "exp", (0, 1.0))
    (tmp_path / "a_link").symlink_to("exp")
    log = pb.read(tmp_path)
    append(path, (1, 2.0))
    assert sorted(log.poll([str(path)]).grown) == ["a_link", "exp"]
    assert values(log["a_link"]) == [1.0, 2.0]


def test_what_grows_behind_a_link_is_looked_for_there_and_nowhere_else(tmp_path, monkeypatch):
    monkeypatch.setattr(mounts, "is_local", lambda path: True)
    path = write_run(tmp_path / "elsewhere" / "deep", (0, 1.0))
    write_run(tmp_path / "runs" / "other")
    for name in ("linked", "again"):
        (tmp_path / "runs" / name).symlink_to(tmp_path / "elsewhere")
    log = pb.read(tmp_path / "runs")
    told = []
    poll = log.poll
    monkeypatch.setattr(log, "poll", lambda paths=None: told.append(paths) or poll(paths))
    with Follower(log) as follower:
        follower.until(lambda: told == [None, None])  # one look before the watch stands, one after
        append(path, (1, 2.0))
        follower.until(lambda: values(log["linked/deep"]) == values(log["again/deep"]) == [1.0, 2.0])
    names = {str(tmp_path / "runs" / name / "deep" / path.name) for name in ("linked", "again")}
    assert [set(paths) for paths in told[2:]] == [names]


def test_a_path_outside_of_the_log_is_answered_with_a_look_everywhere():
    assert follow.paths_in_log(["/elsewhere/x"], roots={"/runs"}, targets={}) is None
    assert follow.paths_in_log(["/runs2/x"], roots={"/runs"}, targets={}) is None
    assert follow.paths_in_log(["/runs/x", "/runs"], roots={"/runs"}, targets={}) == ["/runs/x", "/runs"]
    assert follow.paths_in_log([], roots={"/runs"}, targets={}) == []


def test_a_link_that_comes_later_is_followed(tmp_path, waiting):
    path = write_run(tmp_path / "elsewhere", (0, 1.0))
    write_run(tmp_path / "runs" / "a")
    log = pb.read(tmp_path / "runs")
    with waiting(log) as follower:
        (tmp_path / "runs" / "linked").symlink_to(tmp_path / "elsewhere")
        follower.until(lambda: "linked" in log)
        append(path, (1, 2.0))
        follower.until(lambda: values(log["linked"]) == [1.0, 2.0])


@pytest.mark.parametrize("told", [True, False])
def test_a_log_directory_that_goes_and_comes_back_is_followed_on(tmp_path, monkeypatch, told):
    monkeypatch.setattr(mounts, "is_local", lambda path: told)
    write_run(tmp_path / "runs" / "a", (0, 1.0))
    log = pb.read(tmp_path / "runs")
    # Once the directory is gone, nothing tells of its return: then it must be looked for.
    with Follower(log, every_secs=0.02) as follower:
        shutil.rmtree(tmp_path / "runs")
        follower.until(lambda: len(log) == 0)
        write_run(tmp_path / "runs" / "b", (0, 2.0))
        follower.until(lambda: list(log) == ["b"])


def test_what_changes_while_the_first_news_is_worked_on_is_not_missed(tmp_path, monkeypatch):
    """The watch must stand before the first look, however long the caller takes with what it showed."""
    monkeypatch.setattr(mounts, "is_local", lambda path: True)
    path = write_run(tmp_path, (0, 1.0))
    log = pb.read(tmp_path)
    append(path, (1, 2.0))
    stop = threading.Event()
    news = log.follow(stop=stop)
    assert next(news).grown == (".",)
    append(path, (2, 3.0))  # while the generator rests
    time.sleep(0.3)
    began = time.monotonic()
    assert next(news).grown == (".",)
    assert time.monotonic() - began < 5
    assert values(log["."]) == [1.0, 2.0, 3.0]
    stop.set()
    assert list(news) == []


def test_a_machine_without_watches_left_looks_for_itself(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(28, "No space left on device")  # what inotify says when its watches are used up

    monkeypatch.setattr("watchfiles.watch", refuse)
    monkeypatch.setattr("watchfiles.RustNotify", refuse, raising=False)
    monkeypatch.setattr("watchfiles.main.RustNotify", refuse)
    monkeypatch.setattr(mounts, "is_local", lambda path: True)
    path = write_run(tmp_path, (0, 1.0))
    log = pb.read(tmp_path)
    with Follower(log, every_secs=0.02) as follower:
        append(path, (1, 2.0))
        follower.until(lambda: values(log["."]) == [1.0, 2.0])


def test_following_ends_soon_after_it_is_told_to(tmp_path, waiting):
    write_run(tmp_path)
    log = pb.read(tmp_path)
    with waiting(log) as follower:
        time.sleep(0.1)
        began = time.monotonic()
        follower.stop.set()
        follower.thread.join(PATIENCE_SECS)
    assert time.monotonic() - began < 2
    assert follower.told == []


def test_looks_that_take_long_come_less_often(tmp_path, monkeypatch):
    """Time is played: a look that takes a second may come only every fifty."""
    write_run(tmp_path)
    log = pb.read(tmp_path)
    stop = threading.Event()
    now = [0.0]
    waits = []

    def look():
        now[0] += 1.0
        return None

    def wait(secs):
        waits.append(secs)
        if len(waits) == 3:
            stop.set()

    monkeypatch.setattr(log, "poll", look)
    monkeypatch.setattr(follow.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(stop, "wait", wait)
    monkeypatch.setattr(mounts, "is_local", lambda path: False)
    assert list(log.follow(every_secs=5, stop=stop)) == []
    assert waits == [50.0, 50.0, 50.0]


def test_file_systems_that_tell_are_known_from_those_that_do_not(monkeypatch, tmp_path):
    table = (
        "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
        "23 22 0:5 / /mnt/shared rw - nfs4 server:/x rw\n"
        "24 23 0:6 / /mnt/shared/local rw - tmpfs tmpfs rw\n"
        "25 22 0:7 / /mnt/with\\040space rw - fuse.sshfs host: rw\n"
    )
    real_open = open

    def opened(path, *args, **options):
        if path != "/proc/self/mountinfo":
            return real_open(path, *args, **options)
        made = tmp_path / "mountinfo"
        made.write_text(table)
        return real_open(made, *args, **options)

    monkeypatch.setattr("builtins.open", opened)
    assert mounts.is_local("/home/me/runs")
    assert not mounts.is_local("/mnt/shared/runs")
    assert mounts.is_local("/mnt/shared/local/runs")
    assert not mounts.is_local("/mnt/with space/runs")
    assert mounts.is_local("/mnt/sharedness")


# ---- anything, in any order

DIRECTORIES = ["", "a", "a/b", "c", "c/logs/tensorboard", "c/ranks/1", "c/ranks/2"]
NAMES = ["events.out.tfevents.1", "events.out.tfevents.2", "events.out.tfevents.3"]
WHAT = [
    *["create"] * 4, *["append"] * 6, *["append_part"] * 3, "truncate", "rewrite", "replace", "delete", "rename",
    "move", "rename_directory", "swap_directories", "remove_directory", "make_directory", "archive", "junk",
    *["run_json"] * 2, "remove_run_json", "nothing",
]  # fmt: skip
LINKS = ["link", "link", "link_file", "remove_link"]


class Operations:
    """Random deeds in a directory. File times are counted, not taken from a clock; every point is unique."""

    def __init__(self, root, choose):
        self.root, self.choose, self.count = root, choose, 0
        self.rest = {}  # path -> bytes of a record that was written in part

    def act(self, what):
        self.count += 1
        getattr(self, what)()
        self._let_rest()

    def _let_rest(self):
        """Directories that changed get a time of their own long ago, so that only a new time tells of a new change."""
        for path in [self.root, *self.root.rglob("*")]:
            if path.is_dir() and not path.is_symlink() and path.stat().st_mtime > 1e9:
                self.count += 1
                self._age(path)

    def _events(self, *, fresh):
        out = [version(self.choose(["brain.Event:2", "brain.Event:2", "brain.Event:1"]))] if fresh else []
        for _ in range(self.choose([0, 1, 2, 5])):
            self.count += 1
            step = self.choose(range(6))
            kind = self.choose(["point", "point", "point", "start"])
            event = session_start(step) if kind == "start" else scalars(self.choose("xy"), (step, self.count))[0]
            event.wall_time = 1e9 + self.count
            out.append(event)
        return out[self.choose([0, 0, 1]) :] if fresh else out

    def _put(self, path, data, mode="wb"):
        with open(path, mode) as stream:
            stream.write(data)
        self._age(path)

    def _age(self, path):
        os.utime(path, ns=(self.count * 10**9,) * 2)

    def _files(self):
        found = [p for p in sorted(self.root.rglob("*tfevents*")) if p.is_file() and not p.is_symlink()]
        return [p for p in found if not any(parent.is_symlink() for parent in p.parents)]

    def _file(self):
        files = [path for path in self._files() if path.suffix != ".gz"]
        return self.choose(files) if files else None

    def _directory(self):
        found = [self.root / name for name in DIRECTORIES[1:]]
        found = [path for path in found if path.is_dir()]
        return self.choose(found) if found else None

    def create(self):
        path = self.root / self.choose(DIRECTORIES) / self.choose(NAMES)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.rest.pop(path, None)
        self._put(path, event_file(*self._events(fresh=True)))

    def append(self):
        if path := self._file():
            self._put(path, self.rest.pop(path, b"") + event_file(*self._events(fresh=False)), "ab")

    def append_part(self):
        if path := self._file():
            data = self.rest.pop(path, b"") + event_file(*scalars("x", (self.choose(range(6)), self.count)))
            cut = self.choose(range(len(data)))
            self.rest[path] = data[cut:]
            self._put(path, data[:cut], "ab")

    def truncate(self):
        if path := self._file():
            os.truncate(path, self.choose(range(path.stat().st_size + 1)))
            self.rest.pop(path, None)
            self._age(path)

    def rewrite(self):
        if path := self._file():
            self.rest.pop(path, None)
            self._put(path, event_file(*self._events(fresh=True)))

    def replace(self):
        if path := self._file():
            self.rest.pop(path, None)
            self._put(self.root / "staging", event_file(*self._events(fresh=True)))
            os.replace(self.root / "staging", path)

    def delete(self):
        if path := self._file():
            path.unlink()

    def rename(self):
        if path := self._file():
            path.rename(path.parent / self.choose(NAMES))

    def move(self):
        if (path := self._file()) and (directory := self._directory()):
            path.rename(directory / path.name)

    def swap_directories(self):
        first, second = self._directory(), self._directory()
        if first and second and first not in [second, *second.parents] and second not in first.parents:
            first.rename(self.root / "aside")
            second.rename(first)
            (self.root / "aside").rename(second)

    def rename_directory(self):
        path, target = self._directory(), self.root / self.choose(["a", "c", "d", "a/e"])
        if path and not target.exists() and path not in target.parents and target.parent.is_dir():
            path.rename(target)

    def remove_directory(self):
        if path := self._directory():
            shutil.rmtree(path)

    def make_directory(self):
        (self.root / self.choose(DIRECTORIES) / "new").mkdir(parents=True, exist_ok=True)

    def archive(self):
        if path := self._file():
            target = path.with_name(path.name + ".gz")
            self._put(target, gzip.compress(path.read_bytes(), mtime=0))
            path.unlink()

    def link(self):
        path = self.root / self.choose(["link", "a/link"])
        if path.parent.is_dir() and not path.is_symlink():
            path.symlink_to(self.root / self.choose(["c", "nowhere", ""]))

    def link_file(self):
        path = self.root / self.choose(DIRECTORIES) / "linked.tfevents"
        if path.parent.is_dir() and not path.is_symlink():
            path.symlink_to(self.root / self.choose(["a", "c/ranks/1", "nowhere"]) / self.choose(NAMES))

    def remove_link(self):
        links = [path for path in sorted(self.root.rglob("*")) if path.is_symlink()]
        if links:
            self.choose(links).unlink()

    def junk(self):
        path = self.root / self.choose(DIRECTORIES) / "junk.tfevents"
        path.parent.mkdir(parents=True, exist_ok=True)
        self._put(path, self.choose([b"", b"x", b"no event file" * 9]))

    def run_json(self):
        if (self.root / "c").is_dir():
            (self.root / "c" / "run.json").write_text("{}")

    def remove_run_json(self):
        (self.root / "c" / "run.json").unlink(missing_ok=True)

    def nothing(self):
        pass

    def seen(self):
        """Everything in the directory, by path, as the file system's events tell of it."""
        paths = [self.root, *self.root.rglob("*")]
        return {str(path): (path.lstat().st_ino, path.is_file() and path.lstat().st_mtime_ns) for path in paths}


def _told(before, after):
    """The paths that events would name: of a directory that came or went, itself and not what lies below."""
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    return [path for path in changed if path in before.keys() & after.keys() or os.path.dirname(path) not in changed]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(WHAT + LINKS), min_size=3, max_size=25), st.randoms(use_true_random=False))
def test_a_followed_log_equals_a_fresh_one_whatever_happens_to_the_directory(deeds, random):
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        operations = Operations(root, lambda among: random.choice(list(among)))
        polled, refreshed = pb.read(root), pb.read(root)
        for deed in deeds:
            operations.act(deed)
            before = {name: (run.points, len(run.files)) for name, run in polled.items()}
            changes = polled.poll()
            refreshed.refresh()
            want = all_of(pb.read(root))
            assert all_of(polled) == want, deed
            assert all_of(refreshed) == want, deed
            assert set(changes.added) == set(polled) - set(before), deed
            assert set(changes.removed) == set(before) - set(polled), deed
            moved = {n for n, r in polled.items() if n in before and before[n] != (r.points, len(r.files))}
            assert moved <= set(changes.grown), deed


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(WHAT), min_size=3, max_size=25), st.randoms(use_true_random=False))
def test_a_log_that_is_told_where_to_look_equals_a_fresh_one(deeds, random):
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        operations = Operations(root, lambda among: random.choice(list(among)))
        for name in DIRECTORIES:
            write_run(root / name, (0, 1.0))
        operations.act("nothing")
        given = [root, root / "a", root / "c"]
        told, one = pb.read(*given), pb.read(root)
        for deed in deeds:
            before = operations.seen()
            operations.act(deed)
            paths = _told(before, operations.seen())
            told.poll(paths)
            one.poll(paths)
            assert all_of(one) == all_of(pb.read(root)), deed
            if all(path.is_dir() for path in given):
                assert all_of(told) == all_of(pb.read(*given)), deed
