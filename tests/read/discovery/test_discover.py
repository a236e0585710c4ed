"""Discovery: every directory with an event file is a run, named as TensorBoard names it."""

import os
import time

import pytest
from builders import event_file, scalars, version
from log_directories import values, write_run
from reference import runs_by_tensorboard

import pulseboard as pb
from pulseboard.core.errors import LogNotFound, PulseboardError, RunNotFound


def test_every_directory_with_an_event_file_is_a_run_named_by_its_path(tmp_path):
    for name in (".", "a", "a/b/c", "z z", "ünï"):
        write_run(tmp_path / name)
    (tmp_path / "empty" / "below").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("no event file")
    log = pb.read(tmp_path)
    assert set(log) == {".", "a", "a/b/c", "z z", "ünï"}
    assert set(log) == set(runs_by_tensorboard(tmp_path))


def test_hidden_directories_are_runs_as_in_tensorboard(tmp_path):
    write_run(tmp_path / ".hidden" / "run")
    assert set(pb.read(tmp_path)) == set(runs_by_tensorboard(tmp_path)) == {".hidden/run"}


@pytest.mark.parametrize(
    "name", ["events.out.tfevents.1", "x.tfevents", "tfevents", "events.out.tfevents.1.host.7.0.v2", "my tfevents log"]
)
def test_a_name_with_tfevents_in_it_is_an_event_file(tmp_path, name):
    write_run(tmp_path / "run", (0, 7.0), name=name)
    assert set(pb.read(tmp_path)) == set(runs_by_tensorboard(tmp_path)) == {"run"}
    assert values(pb.read(tmp_path)["run"]) == [7.0]


def test_a_profile_marker_makes_a_run_without_data(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "events.out.tfevents.1.profile-empty").write_bytes(b"")
    log = pb.read(tmp_path)
    assert set(log) == set(runs_by_tensorboard(tmp_path)) == {"run"}
    assert log["run"].tags() == []
    assert log.notes() == []


def test_a_directory_named_like_an_event_file_is_not_an_event_file(tmp_path):
    write_run(tmp_path / "tfevents.d", (0, 1.0))
    assert set(pb.read(tmp_path)) == set(runs_by_tensorboard(tmp_path)) == {"tfevents.d"}


def test_the_most_recently_active_run_comes_first(tmp_path):
    for name, wall_time in (("old", 1e9), ("newest", 3e9), ("newer", 2e9)):
        write_run(tmp_path / name, wall_time=wall_time)
    assert list(pb.read(tmp_path)) == ["newest", "newer", "old"]


def test_runs_that_were_active_at_the_same_moment_are_in_order_of_name(tmp_path):
    for name in ("b", "c", "a"):
        write_run(tmp_path / name)
    assert list(pb.read(tmp_path)) == ["a", "b", "c"]


def test_a_run_without_events_is_as_recent_as_its_file(tmp_path):
    write_run(tmp_path / "run", wall_time=1e9)
    for name, mtime in (("before", 1e9 - 50), ("after", 1e9 + 1000)):
        (tmp_path / name).mkdir()
        path = tmp_path / name / "events.out.tfevents.1"
        path.write_bytes(b"")
        os.utime(path, (mtime, mtime))
    assert list(pb.read(tmp_path)) == ["after", "run", "before"]


def test_files_of_a_run_are_read_in_the_order_of_their_names(tmp_path):
    for i, name in enumerate(["events.out.tfevents.30", "events.out.tfevents.10", "events.out.tfevents.20"]):
        write_run(tmp_path, (i, float(i)), name=name)
    assert values(pb.read(tmp_path)["."]) == [1.0, 2.0, 0.0]


# ---- several paths, names, single files


def test_several_directories_are_named_after_their_last_parts(tmp_path):
    write_run(tmp_path / "one" / "exp")
    write_run(tmp_path / "two" / "exp")
    log = pb.read(tmp_path / "one", tmp_path / "two")
    assert set(log) == {"one/exp", "two/exp"}


def test_names_have_as_many_parts_as_it_takes_to_be_distinct(tmp_path):
    write_run(tmp_path / "ada" / "runs" / "exp")
    write_run(tmp_path / "bob" / "runs" / "exp")
    assert set(pb.read(tmp_path / "ada/runs", tmp_path / "bob/runs")) == {"ada/runs/exp", "bob/runs/exp"}


def test_one_directory_given_twice_is_read_once(tmp_path):
    write_run(tmp_path / "exp", (0, 1.0))
    log = pb.read(tmp_path, tmp_path)
    assert len(log) == 1
    assert values(next(iter(log.values()))) == [1.0]


def test_a_pair_puts_its_runs_below_a_name(tmp_path):
    write_run(tmp_path / "exp")
    assert set(pb.read(f"mine:{tmp_path}")) == {"mine/exp"}


def test_the_name_of_a_pair_is_an_alias_of_the_run_in_the_directory_itself(tmp_path):
    write_run(tmp_path, (0, 4.0))
    log = pb.read(f"mine:{tmp_path}")
    assert list(log) == ["mine/."]
    assert log["mine"] is log["mine/."]


def test_pairs_and_plain_paths_mix(tmp_path):
    write_run(tmp_path / "a" / "exp")
    write_run(tmp_path / "b" / "exp")
    assert set(pb.read(f"mine:{tmp_path / 'a'}", tmp_path / "b")) == {"mine/exp", "b/exp"}


def test_a_path_that_exists_is_not_a_pair(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "lr:0.1" / "exp")
    assert set(pb.read("lr:0.1")) == {"exp"}


def test_two_directories_with_the_same_name_are_refused(tmp_path):
    write_run(tmp_path / "a" / "exp", (0, 1.0))
    write_run(tmp_path / "b" / "exp", (0, 2.0))
    with pytest.raises(PulseboardError, match="'same'"):
        pb.read(f"same:{tmp_path / 'a'}", f"same:{tmp_path / 'b'}")


def test_a_single_event_file_is_a_run_named_after_it(tmp_path):
    path = write_run(tmp_path / "exp", (0, 3.0))
    write_run(tmp_path / "exp", (0, 4.0), name="events.out.tfevents.2")
    log = pb.read(path)
    assert {name: values(run) for name, run in log.items()} == {"events.out.tfevents.1": [3.0]}


def test_a_relative_path_and_the_home_directory_work(tmp_path, monkeypatch):
    write_run(tmp_path / "runs" / "exp")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert set(pb.read("runs")) == set(pb.read("./runs/")) == set(pb.read("~/runs")) == {"exp"}


def test_a_missing_path_is_named_in_the_error(tmp_path):
    with pytest.raises(LogNotFound, match="no such file or directory") as caught:
        pb.read(tmp_path / "nowhere")
    assert str(tmp_path / "nowhere") in str(caught.value)
    with pytest.raises(LogNotFound):
        pb.read(f"name:{tmp_path}/nowhere")
    with pytest.raises(LogNotFound, match="no path was given"):
        pb.read()


def test_an_empty_directory_has_no_runs(tmp_path):
    log = pb.read(tmp_path)
    assert len(log) == 0
    assert log.notes() == []


def test_the_error_about_an_unknown_run_has_the_nearest_names(tmp_path):
    write_run(tmp_path / "baseline")
    with pytest.raises(RunNotFound, match="Nearest: 'baseline'"):
        pb.read(tmp_path)["basline"]
    with pytest.raises(KeyError):
        pb.read(tmp_path)["basline"]


# ---- recorded runs: the directory with the run.json gives the short name


def test_a_run_with_a_run_json_has_a_short_name(tmp_path):
    write_run(tmp_path / "exp" / "logs" / "tensorboard", (0, 5.0))
    (tmp_path / "exp" / "run.json").write_text("{}")
    log = pb.read(tmp_path)
    assert list(log) == ["exp"]
    assert log["exp/logs/tensorboard"] is log["exp"]
    assert "exp/logs/tensorboard" in log


def test_without_a_run_json_the_whole_path_is_the_name(tmp_path):
    write_run(tmp_path / "exp" / "logs" / "tensorboard")
    assert list(pb.read(tmp_path)) == ["exp/logs/tensorboard"]


def test_event_files_at_the_top_of_a_recorded_run_are_not_lost(tmp_path):
    write_run(tmp_path / "exp", (0, 1.0))
    write_run(tmp_path / "exp" / "logs" / "tensorboard", (0, 2.0))
    (tmp_path / "exp" / "run.json").write_text("{}")
    log = pb.read(tmp_path)
    assert sorted(value for run in log.values() for value in values(run)) == [1.0, 2.0]
    assert values(log["exp/logs/tensorboard"]) == [2.0]


def test_what_other_ranks_wrote_belongs_to_their_run(tmp_path):
    write_run(tmp_path / "exp" / "logs" / "tensorboard", (0, 1.0))
    write_run(tmp_path / "exp" / "ranks" / "1", (0, 2.0))
    write_run(tmp_path / "exp" / "ranks" / "12", (0, 3.0))
    (tmp_path / "exp" / "run.json").write_text("{}")
    log = pb.read(tmp_path)
    assert list(log) == ["exp"]
    assert {number: values(rank) for number, rank in log["exp"].ranks.items()} == {0: [1.0], 1: [2.0], 12: [3.0]}
    assert log["exp/ranks/12"] is log["exp"].ranks[12]


@pytest.mark.parametrize("name", ["0", "01", "x", "²", "-1"])
def test_a_directory_next_to_the_ranks_that_is_not_a_rank_is_a_run_of_its_own(tmp_path, name):
    write_run(tmp_path / "exp" / "logs" / "tensorboard", (0, 1.0))
    write_run(tmp_path / "exp" / "ranks" / name, (0, 2.0))
    (tmp_path / "exp" / "run.json").write_text("{}")
    log = pb.read(tmp_path)
    assert set(log) == {"exp", f"exp/ranks/{name}"}
    assert list(log["exp"].ranks) == [0]


def test_ranks_without_a_recorded_run_are_ordinary_runs(tmp_path):
    write_run(tmp_path / "exp" / "ranks" / "1")
    assert list(pb.read(tmp_path)) == ["exp/ranks/1"]
    (tmp_path / "exp" / "run.json").write_text("{}")
    assert list(pb.read(tmp_path)) == ["exp/ranks/1"]


# ---- links


def test_a_linked_directory_is_a_run_named_after_the_link(tmp_path):
    write_run(tmp_path / "elsewhere" / "exp", (0, 6.0))
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "linked").symlink_to(tmp_path / "elsewhere" / "exp")
    assert {name: values(run) for name, run in pb.read(tmp_path / "runs").items()} == {"linked": [6.0]}


def test_a_run_and_a_link_to_it_are_two_runs_that_share_their_columns(tmp_path):
    write_run(tmp_path / "exp", (0, 6.0))
    (tmp_path / "latest").symlink_to("exp")
    log = pb.read(tmp_path)
    assert set(log) == {"exp", "latest"}
    assert log["exp"].files[0] is log["latest"].files[0]


def test_a_link_to_a_parent_directory_is_not_followed_forever(tmp_path):
    write_run(tmp_path / "exp")
    (tmp_path / "exp" / "up").symlink_to(tmp_path)
    (tmp_path / "exp" / "self").symlink_to(".")
    assert set(pb.read(tmp_path)) == {"exp"}


def test_links_to_each_other_are_not_followed_forever(tmp_path):
    write_run(tmp_path / "a")
    write_run(tmp_path / "b")
    (tmp_path / "a" / "to_b").symlink_to(tmp_path / "b")
    (tmp_path / "b" / "to_a").symlink_to(tmp_path / "a")
    assert set(pb.read(tmp_path)) == {"a", "b", "a/to_b", "b/to_a"}


def test_many_links_to_each_other_are_scanned_quickly(tmp_path):
    names = [f"d{i}" for i in range(9)]
    for name in names:
        write_run(tmp_path / name)
        for other in names:
            (tmp_path / name / f"to_{other}").symlink_to(tmp_path / other)
    began = time.process_time()
    log = pb.read(tmp_path)
    assert set(names) <= set(log)
    assert time.process_time() - began < 5  # of this process alone: following every path would take minutes


def test_dangling_links_and_links_to_themselves_are_skipped(tmp_path):
    write_run(tmp_path / "exp")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "exp" / "gone.tfevents").symlink_to("nowhere")
    log = pb.read(tmp_path)
    assert set(log) == {"exp"}
    assert len(log["exp"].files) == 1


def test_a_linked_event_file_is_read(tmp_path):
    path = write_run(tmp_path / "elsewhere", (0, 8.0))
    (tmp_path / "runs" / "exp").mkdir(parents=True)
    (tmp_path / "runs" / "exp" / path.name).symlink_to(path)
    assert values(pb.read(tmp_path / "runs")["exp"]) == [8.0]


def test_the_log_directory_itself_may_be_a_link(tmp_path):
    write_run(tmp_path / "real" / "exp", (0, 9.0))
    (tmp_path / "link").symlink_to("real")
    assert values(pb.read(tmp_path / "link")["exp"]) == [9.0]


# ---- names


@pytest.mark.parametrize("name", ["a,b", 'quo"te', "new\nline", "[red]", "tab\t", "*?", "-", "%s", "漢字"])
def test_unusual_names_are_kept(tmp_path, name):
    write_run(tmp_path / name, (0, 1.0))
    assert list(pb.read(tmp_path)) == [name]


def test_a_run_whose_name_is_not_utf8_is_read_and_its_name_escaped(tmp_path):
    directory = os.fsencode(tmp_path) + b"/run\xff"
    os.mkdir(directory)
    with open(directory + b"/events.out.tfevents.1", "wb") as stream:
        stream.write(event_file(version(), *scalars("loss", (0, 2.5))))
    log = pb.read(tmp_path)
    assert list(log) == [r"run\xff"]
    assert values(log[r"run\xff"]) == [2.5]


def test_very_deep_directories_are_reached(tmp_path):
    deep = tmp_path.joinpath(*["d"] * 300)
    write_run(deep)
    assert list(pb.read(tmp_path)) == ["/".join(["d"] * 300)]
