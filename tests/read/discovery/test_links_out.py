"""Links that lead out of the log directories, put in place of what was listed a moment ago."""

import os

import pytest
from log_directories import values, write_run

from pulseboard.kernel import reader
from pulseboard.read.discovery.log_directory import log_directories_from
from pulseboard.read.runs import Runs
from pulseboard.rundir.regular_file import NotARegularFile, OutsideDirectory, open_regular


@pytest.fixture
def places(tmp_path):
    """A log directory, and a directory outside it with another run."""
    logs, outside = tmp_path / "logs", tmp_path / "outside"
    write_run(logs / "run", (0, 1.0))
    write_run(outside / "run", (0, 666.0), tag="secret")
    return logs, outside


def runs_in(logs, *, links_out=False):
    runs = Runs(log_directories_from([logs], links_out=links_out))
    runs.refresh()
    return runs


def tags(runs):
    return {tag for run in runs.values() for tag in run.tags()}


@pytest.mark.parametrize("reported", ["run", "run/events.out.tfevents.1"])
def test_a_directory_that_was_replaced_by_a_link_is_not_served(places, reported):
    """One batch of events reports only the directory that was replaced, and not the one that holds it."""
    logs, outside = places
    runs = runs_in(logs)
    os.rename(logs / "run", logs.parent / "moved-away")
    os.symlink(outside / "run", logs / "run")
    runs.poll([str(logs / reported)])
    assert tags(runs) == set()
    assert any("leads out" in note.what for note in runs.notes())


def test_a_link_that_stays_within_is_followed_after_it_replaced_a_directory(places):
    logs, _ = places
    write_run(logs / "other", (0, 2.0))
    runs = runs_in(logs)
    os.rename(logs / "run", logs / "renamed")
    os.symlink(logs / "other", logs / "run")
    runs.poll([str(logs / "run")])
    assert values(runs["run"]) == [2.0]
    assert runs.linked_directories() == [str(logs / "run")]


@pytest.mark.parametrize("deep", [False, True])
def test_containment_is_checked_on_the_open_file(places, deep):
    """Between the listing and the reading: nothing is read, whichever part of the path became a link."""
    logs, outside = places
    top = logs / "a" if deep else logs
    if deep:
        write_run(logs / "a" / "run", (0, 1.0))
    runs = runs_in(logs)
    (file,) = runs["a/run" if deep else "run"].files
    replaced = top if deep else logs / "run"
    os.rename(replaced, logs.parent / "moved-away")
    os.symlink(outside if deep else outside / "run", replaced)
    file.log.reset()
    file.load()
    assert file.log.end == reader.END_OUTSIDE
    assert (file.log.events, file.log.tag_count) == (0, 0)
    with pytest.raises(OutsideDirectory):
        file.read([(0, 16)])
    assert [note.level for note in file.notes()] == ["info"]


def test_with_links_out_they_are_followed(places):
    logs, outside = places
    os.symlink(outside, logs / "linked")
    runs = runs_in(logs, links_out=True)
    assert tags(runs) == {"loss", "secret"}


def test_a_log_directory_that_is_a_link_may_be_set_to_another_target(places, tmp_path):
    _, outside = places
    current = tmp_path / "current"
    os.symlink(tmp_path / "logs", current)
    runs = runs_in(current)
    assert tags(runs) == {"loss"}
    current.unlink()
    os.symlink(outside, current)
    runs.refresh()
    assert tags(runs) == {"secret"}
    assert runs.notes() == []


def test_a_pipe_is_never_opened_for_reading(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotARegularFile):
        open_regular(str(tmp_path / "pipe"))


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_values_of_a_file_that_became_a_pipe_are_an_error_and_not_a_wait(tmp_path, suffix):
    path = write_run(tmp_path / "logs" / "run", (0, 1.0))
    runs = runs_in(tmp_path / "logs")
    (file,) = runs["run"].files
    path.unlink()
    os.mkfifo(f"{path}{suffix}")
    file.path += suffix
    with pytest.raises(NotARegularFile):
        file.read([(0, 16)])
    file.load()
    assert file.notes()
