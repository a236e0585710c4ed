"""Directories and links that appear, disappear and change places while runs are kept up to date."""

import os
import shutil

import pytest
from log_directories import append, matches_fresh_read, values, write_run

import pulseboard as pb
from pulseboard.core.changes import Changes
from pulseboard.read.discovery.log_directory import log_directories_from
from pulseboard.read.event_files import runs as runs_module
from pulseboard.read.runs import Runs


def test_a_new_run_is_found(tmp_path, catch_up):
    write_run(tmp_path / "a", wall_time=0)
    log = pb.read(tmp_path)
    write_run(tmp_path / "b", (0, 2.0), wall_time=100)
    assert catch_up(log).added == ("b",)
    assert list(log) == ["b", "a"]


def test_a_run_in_new_nested_directories_is_found(tmp_path, catch_up):
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


def test_a_run_in_a_renamed_directory_has_the_new_name_and_is_not_read_again(tmp_path, catch_up, monkeypatch):
    write_run(tmp_path / "old" / "run", (0, 1.0))
    log = pb.read(tmp_path)
    monkeypatch.setattr(runs_module, "load_files", lambda files, **_: pytest.fail(str(files)) if files else None)
    (tmp_path / "old").rename(tmp_path / "new")
    changes = catch_up(log)
    assert (changes.added, changes.removed) == (("new/run",), ("old/run",))
    monkeypatch.undo()
    assert matches_fresh_read(log)


def test_the_runs_of_a_removed_directory_are_gone(tmp_path, catch_up):
    write_run(tmp_path / "keep")
    write_run(tmp_path / "drop" / "a")
    write_run(tmp_path / "drop" / "b")
    log = pb.read(tmp_path)
    shutil.rmtree(tmp_path / "drop")
    assert sorted(catch_up(log).removed) == ["drop/a", "drop/b"]
    assert list(log) == ["keep"]


def test_a_run_json_that_appears_later_shortens_the_name(tmp_path, catch_up):
    write_run(tmp_path / "exp" / "logs" / "tensorboard", (0, 1.0))
    log = pb.read(tmp_path)
    (tmp_path / "exp" / "run.json").write_text("{}")
    changes = catch_up(log)
    assert (changes.added, changes.removed) == (("exp",), ("exp/logs/tensorboard",))
    assert matches_fresh_read(log)


def test_a_name_that_moves_to_another_directory_is_reported(tmp_path, catch_up):
    write_run(tmp_path / "exp" / "logs" / "tensorboard", (0, 1.0))
    (tmp_path / "exp" / "run.json").write_text("{}")
    log = pb.read(tmp_path)
    write_run(tmp_path / "exp", (0, 2.0))
    changes = catch_up(log)
    assert (changes.added, changes.grown) == (("exp/logs/tensorboard",), ("exp",))
    assert values(log["exp"]) == [2.0]


def test_a_rank_that_appears_later_joins_its_run_and_may_disappear_again(tmp_path, catch_up):
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
    assert matches_fresh_read(log)


def test_ranks_are_runs_of_their_own_until_the_run_json_appears(tmp_path):
    """Only the directory with the run.json is scanned, but the names of those below it change."""
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
    assert matches_fresh_read(log)


def test_a_name_of_two_directories_goes_to_the_other_when_one_is_removed(tmp_path, catch_up):
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


def test_nested_log_directories_share_their_files(tmp_path, catch_up):
    path = write_run(tmp_path / "a" / "b", (0, 1.0))
    log = pb.read(tmp_path, tmp_path / "a")
    assert len(log) == 2
    append(path, (1, 2.0))
    assert sorted(catch_up(log).grown) == sorted(log)
    assert [values(run) for run in log.values()] == [[1.0, 2.0]] * 2


def test_a_directory_that_replaced_another_is_scanned_to_its_depths(tmp_path):
    """For a renamed directory, only its own path is reported, not the paths below it."""
    write_run(tmp_path / "a" / "same" / "x", (0, 1.0))
    write_run(tmp_path / "b" / "same" / "y", (0, 2.0))
    log = pb.read(tmp_path)
    (tmp_path / "a").rename(tmp_path / "old")
    (tmp_path / "b").rename(tmp_path / "a")
    log.poll([str(tmp_path / name) for name in ("a", "b", "old")])
    assert set(log) == {"a/same/y", "old/same/x"}
    assert matches_fresh_read(log)


@pytest.mark.parametrize("target", ["directory", "file"])
def test_the_target_of_a_link_may_appear_and_disappear(tmp_path, target):
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
                os.utime(directory, (1e9, 1e9))  # so that the modification time does not reveal the change

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
        log.poll()  # the first one only notices that something is gone
        assert matches_fresh_read(log)
        assert not log["exp"].files if target == "file" else "exp" not in log


def test_a_single_file_is_followed_too(tmp_path, catch_up):
    path = write_run(tmp_path, (0, 1.0))
    log = pb.read(path)
    append(path, (1, 2.0))
    assert catch_up(log).grown == (path.name,)
    path.unlink()
    assert catch_up(log).removed == (path.name,)


def test_a_file_created_in_the_same_tick_as_a_scan_is_found_by_the_next(tmp_path):
    """File systems store times in ticks; a directory can change twice in one."""
    write_run(tmp_path / "exp", (0, 1.0))
    log = pb.read(tmp_path)
    tick = (tmp_path / "exp").stat().st_mtime_ns
    write_run(tmp_path / "exp", (1, 2.0), name="events.out.tfevents.2")
    os.utime(tmp_path / "exp", ns=(tick, tick))
    log.poll()
    assert values(log["exp"]) == [1.0, 2.0]


def test_a_directory_that_becomes_readable_is_read_and_its_note_removed(tmp_path, monkeypatch):
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


def test_the_note_about_a_link_that_was_left_out_is_removed_with_the_link(tmp_path, catch_up):
    write_run(tmp_path / "elsewhere")
    write_run(tmp_path / "runs" / "exp")
    link = tmp_path / "runs" / "exp" / "out"
    link.symlink_to(tmp_path / "elsewhere")
    log = Runs(log_directories_from([tmp_path / "runs"], links_out=False))
    catch_up(log)
    assert [note.path for note in log.notes()] == [str(link)]
    catch_up(log)
    assert [note.path for note in log.notes()] == [str(link)]
    link.unlink()
    catch_up(log)
    assert log.notes() == []
    assert list(log) == ["exp"]
