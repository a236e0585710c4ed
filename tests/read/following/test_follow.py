"""Following: changes arrive by themselves, through file-system events or by polling."""

import os
import shutil
import threading
import time

import pytest
from log_directories import append, matches_fresh_read, values, write_run

import pulseboard as pb
from pulseboard.read import follow
from pulseboard.rundir import mounts

# What a test waits for takes moments; this only ends a test that would hang.
TIMEOUT_SECS = 120


class Follower:
    """Follows runs in a thread and keeps the changes."""

    def __init__(self, log, **options):
        self.log, self.changes, self.stop = log, [], threading.Event()
        self.failed = None
        self.thread = threading.Thread(target=self._run, kwargs=options, daemon=True)

    def _run(self, **options):
        try:
            for changes in self.log.follow(stop=self.stop, **options):
                assert changes
                self.changes.append(changes)
        except BaseException as error:
            self.failed = error

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join(TIMEOUT_SECS)
        assert not self.thread.is_alive()
        assert self.failed is None

    def until(self, condition):
        """Wait until the condition holds."""
        deadline = time.monotonic() + TIMEOUT_SECS
        while not condition():
            assert self.failed is None, self.failed
            assert time.monotonic() < deadline, f"timed out; got {self.changes}"
            time.sleep(0.01)


@pytest.fixture(params=["events", "polling"])
def waiting(request, monkeypatch):
    """Starts a follower that uses file-system events, or one that polls."""
    monkeypatch.setattr(mounts, "is_local", lambda path: request.param == "events")
    return lambda log: Follower(log, every_secs=0.02 if request.param == "polling" else 1000)


def test_changes_are_yielded_as_they_happen(tmp_path, waiting):
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
    assert matches_fresh_read(log)
    assert {name for changes in follower.changes for name in changes.added} == {"b/c"}
    assert {name for changes in follower.changes for name in changes.removed} == {"a"}


def test_a_rename_and_a_replacement_are_followed(tmp_path, waiting):
    path = write_run(tmp_path / "a", (0, 1.0))
    log = pb.read(tmp_path)
    with waiting(log) as follower:
        (tmp_path / "a").rename(tmp_path / "b")
        follower.until(lambda: list(log) == ["b"])
        os.replace(write_run(tmp_path / "staging", (0, 9.0), (1, 8.0), name="new"), tmp_path / "b" / path.name)
        follower.until(lambda: values(log["b"]) == [9.0, 8.0])
        os.truncate(tmp_path / "b" / path.name, 0)
        follower.until(lambda: log["b"].points == 0)


def test_the_target_of_a_link_is_followed(tmp_path, waiting):
    path = write_run(tmp_path / "elsewhere", (0, 1.0))
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "linked").symlink_to(tmp_path / "elsewhere")
    log = pb.read(tmp_path / "runs")
    with waiting(log) as follower:
        append(path, (1, 2.0))
        follower.until(lambda: values(log["linked"]) == [1.0, 2.0])


def test_a_run_and_a_link_to_it_are_both_followed(tmp_path, waiting):
    path = write_run(tmp_path / "exp", (0, 1.0))
    (tmp_path / "a_link").symlink_to("exp")
    log = pb.read(tmp_path)
    with waiting(log) as follower:
        append(path, (1, 2.0))
        follower.until(lambda: values(log["exp"]) == values(log["a_link"]) == [1.0, 2.0])
        append(path, (2, 3.0))
        follower.until(lambda: values(log["exp"]) == values(log["a_link"]) == [1.0, 2.0, 3.0])
    assert matches_fresh_read(log)


def test_a_poll_of_one_path_of_a_file_updates_its_other_paths(tmp_path):
    path = write_run(tmp_path / "exp", (0, 1.0))
    (tmp_path / "a_link").symlink_to("exp")
    log = pb.read(tmp_path)
    append(path, (1, 2.0))
    assert sorted(log.poll([str(path)]).grown) == ["a_link", "exp"]
    assert values(log["a_link"]) == [1.0, 2.0]


def test_growth_behind_a_link_polls_only_the_paths_that_lead_there(tmp_path, monkeypatch):
    monkeypatch.setattr(mounts, "is_local", lambda path: True)
    path = write_run(tmp_path / "elsewhere" / "deep", (0, 1.0))
    write_run(tmp_path / "runs" / "other")
    for name in ("linked", "again"):
        (tmp_path / "runs" / name).symlink_to(tmp_path / "elsewhere")
    log = pb.read(tmp_path / "runs")
    polled = []
    poll = log.poll

    def poll_and_note(paths=None):
        found = poll(paths)
        polled.append(paths)  # afterwards: a point that is written during a poll may be seen by it
        return found

    monkeypatch.setattr(log, "poll", poll_and_note)
    with Follower(log) as follower:
        follower.until(lambda: polled == [None, None])  # one poll before the watch is active, one after
        append(path, (1, 2.0))
        follower.until(lambda: len(polled) > 2)
        follower.until(lambda: values(log["linked/deep"]) == values(log["again/deep"]) == [1.0, 2.0])
    names = {str(tmp_path / "runs" / name / "deep" / path.name) for name in ("linked", "again")}
    assert [set(paths) for paths in polled[2:]] == [names]


def test_a_path_outside_the_log_directories_needs_a_full_poll():
    assert follow.paths_below(["/elsewhere/x"], log_directories={"/runs"}, link_targets={}) is None
    assert follow.paths_below(["/runs2/x"], log_directories={"/runs"}, link_targets={}) is None
    assert follow.paths_below(["/runs/x", "/runs"], log_directories={"/runs"}, link_targets={}) == ["/runs/x", "/runs"]
    assert follow.paths_below([], log_directories={"/runs"}, link_targets={}) == []


def test_a_link_that_appears_later_is_followed(tmp_path, waiting):
    path = write_run(tmp_path / "elsewhere", (0, 1.0))
    write_run(tmp_path / "runs" / "a")
    log = pb.read(tmp_path / "runs")
    with waiting(log) as follower:
        (tmp_path / "runs" / "linked").symlink_to(tmp_path / "elsewhere")
        follower.until(lambda: "linked" in log)
        append(path, (1, 2.0))
        follower.until(lambda: values(log["linked"]) == [1.0, 2.0])


@pytest.mark.parametrize("events", [True, False])
def test_a_log_directory_that_is_removed_and_created_again_is_still_followed(tmp_path, monkeypatch, events):
    monkeypatch.setattr(mounts, "is_local", lambda path: events)
    write_run(tmp_path / "runs" / "a", (0, 1.0))
    log = pb.read(tmp_path / "runs")
    # Once the directory is gone, no event reports its return, so following falls back to polling.
    with Follower(log, every_secs=0.02) as follower:
        shutil.rmtree(tmp_path / "runs")
        follower.until(lambda: len(log) == 0)
        write_run(tmp_path / "runs" / "b", (0, 2.0))
        follower.until(lambda: list(log) == ["b"])


@pytest.mark.parametrize("how", ["moved away", "removed", "mounted over"])
def test_a_log_directory_that_is_replaced_at_once_is_still_followed(tmp_path, monkeypatch, how):
    """The watch was on the old directory, and only the full poll every 30 seconds found what came into the new one."""
    monkeypatch.setattr(mounts, "is_local", lambda path: True)
    runs = tmp_path / "runs"
    write_run(runs / "a", (0, 1.0))
    write_run(tmp_path / "other" / "c", (0, 3.0))
    log = pb.read(runs)
    with Follower(log) as follower:
        append(runs / "a" / "events.out.tfevents.1", (1, 2.0))
        follower.until(lambda: values(log["a"]) == [1.0, 2.0])  # the watch is active
        monkeypatch.setattr(follow, "_FULL_POLL_SECS", 10_000.0)
        if how == "removed":
            shutil.rmtree(runs)
            runs.mkdir()
        else:
            runs.rename(tmp_path / "old")
            (tmp_path / "other").rename(runs) if how == "mounted over" else runs.mkdir()
        write_run(runs / "b", (0, 2.0))
        expected = {"b", "c"} if how == "mounted over" else {"b"}
        follower.until(lambda: set(log) == expected)
        append(runs / "b" / "events.out.tfevents.1", (1, 4.0))
        follower.until(lambda: values(log["b"]) == [2.0, 4.0])


def test_a_directory_that_came_in_place_of_another_is_read_before_it_is_watched(tmp_path, monkeypatch):
    """It was read when the new watch reported something for the first time: 1.1 s after the old one was removed."""
    import watchfiles

    monkeypatch.setattr(mounts, "is_local", lambda path: True)
    runs = tmp_path / "runs"
    write_run(runs / "a", (0, 1.0))
    log = pb.read(runs)
    at_watch = []
    watch = watchfiles.watch

    def watch_and_note(*paths, **options):
        at_watch.append(set(log))
        return watch(*paths, **options)

    monkeypatch.setattr(watchfiles, "watch", watch_and_note)
    with Follower(log) as follower:
        follower.until(lambda: at_watch == [{"a"}])
        runs.rename(tmp_path / "old")
        write_run(tmp_path / "made" / "b", (0, 2.0))
        (tmp_path / "made").rename(runs)
        follower.until(lambda: len(at_watch) >= 2)
    assert at_watch[-1] == {"b"}


def test_a_directory_that_comes_back_ends_the_wait_for_it(tmp_path):
    class Stop(threading.Event):
        waits = ()

        def wait(self, timeout):
            self.waits += (timeout,)
            if len(self.waits) == 3:
                (tmp_path / "runs").mkdir()
            return super().wait(timeout)

    stop = Stop()
    follow._wait_for([str(tmp_path), str(tmp_path / "runs")], secs=1000.0, stop=stop)
    assert len(stop.waits) == 3
    assert max(stop.waits) <= 0.1


def test_changes_during_the_handling_of_the_first_changes_are_not_missed(tmp_path, monkeypatch):
    """The watch must be active before the first poll, however long the caller takes to handle its result."""
    monkeypatch.setattr(mounts, "is_local", lambda path: True)
    monkeypatch.setattr(follow, "_FULL_POLL_SECS", 10_000.0)  # the poll that finds what the watch missed
    path = write_run(tmp_path, (0, 1.0))
    log = pb.read(tmp_path)
    append(path, (1, 2.0))
    stop = threading.Event()
    limit = threading.Timer(TIMEOUT_SECS, stop.set)
    limit.start()
    news = log.follow(stop=stop)
    assert next(news).grown == (".",)
    append(path, (2, 3.0))  # while the generator is suspended
    assert next(news).grown == (".",)
    limit.cancel()
    assert values(log["."]) == [1.0, 2.0, 3.0]
    stop.set()
    assert list(news) == []


def test_a_machine_without_watches_left_polls(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(28, "No space left on device")  # inotify's error when all watches are used up

    monkeypatch.setattr("watchfiles.watch", refuse)
    monkeypatch.setattr("watchfiles.RustNotify", refuse, raising=False)
    monkeypatch.setattr("watchfiles.main.RustNotify", refuse)
    monkeypatch.setattr(mounts, "is_local", lambda path: True)
    path = write_run(tmp_path, (0, 1.0))
    log = pb.read(tmp_path)
    with Follower(log, every_secs=0.02) as follower:
        append(path, (1, 2.0))
        follower.until(lambda: values(log["."]) == [1.0, 2.0])


def test_following_ends_soon_after_stop_is_set(tmp_path, waiting):
    write_run(tmp_path)
    log = pb.read(tmp_path)
    with waiting(log) as follower:
        time.sleep(0.1)
        follower.stop.set()
        follower.thread.join(TIMEOUT_SECS)
        assert not follower.thread.is_alive()
    assert follower.changes == []


def test_slow_polls_become_less_frequent(tmp_path, monkeypatch):
    """With a fake clock: a poll that takes a second runs only every fifty seconds."""
    write_run(tmp_path)
    log = pb.read(tmp_path)
    stop = threading.Event()
    now = [0.0]
    waits = []

    def slow_poll():
        now[0] += 1.0
        return None

    def wait(secs):
        waits.append(secs)
        if len(waits) == 3:
            stop.set()

    monkeypatch.setattr(log, "poll", slow_poll)
    monkeypatch.setattr(follow.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(stop, "wait", wait)
    monkeypatch.setattr(mounts, "is_local", lambda path: False)
    assert list(log.follow(every_secs=5, stop=stop)) == []
    assert waits == [50.0, 50.0, 50.0]


def test_shared_file_systems_are_distinguished_from_local_ones(monkeypatch, tmp_path):
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
