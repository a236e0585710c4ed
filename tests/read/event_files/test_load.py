"""Loading: many files at once, archives among them, with progress, while other threads read."""

import gzip
import os
import threading

import pytest
from builders import event_file, scalar, scalars, session_start, summary, version
from cost import bytecodes_of
from log_directories import all_of, append, values, write_run

import pulseboard as pb
from pulseboard.read.event_files import load
from pulseboard.read.event_files import runs as runs_module
from pulseboard.read.event_files.event_file import EventFile


@pytest.fixture
def many(tmp_path):
    """Makes a log directory of many tiny runs."""

    def make(count, *, below="runs"):
        data = event_file(version(), *scalars("loss", (0, 1.0), (1, 2.0)))
        for i in range(count):
            directory = tmp_path / below / f"run{i:05}"
            directory.mkdir(parents=True)
            (directory / "events.out.tfevents.1").write_bytes(data)
        return tmp_path / below

    return make


# ---- many files


def test_thousands_of_runs_are_read_each_with_its_points(many):
    log = pb.read(many(3000))
    assert len(log) == 3000
    assert {run.points for run in log.values()} == {2}
    assert values(log["run02999"]) == [1.0, 2.0]


def test_ten_times_the_runs_cost_ten_times_as_much(many):
    few, more = many(50, below="few"), many(500, below="more")
    pb.read(few)  # what the first call imports is not counted
    assert bytecodes_of(lambda: pb.read(more)) < 11 * bytecodes_of(lambda: pb.read(few))


def test_ten_times_the_files_of_a_run_cost_ten_times_as_much(tmp_path):
    data = event_file(version(), *scalars("loss", (0, 1.0)))
    cost = {}
    for count in (1, 50, 500):  # what the first call imports is not counted
        directory = tmp_path / str(count)
        directory.mkdir()
        for i in range(count):
            (directory / f"events.out.tfevents.{i:05}").write_bytes(data)
        cost[count] = bytecodes_of(lambda directory=directory: pb.read(directory)["."].series("loss"))
        assert len(pb.read(directory)["."].series("loss")) == count
    assert cost[500] < 11 * cost[50]


@pytest.mark.parametrize("cores", [1, 2, 8, None])
def test_the_result_does_not_depend_on_the_number_of_cores(many, monkeypatch, cores):
    root = many(50)
    want = all_of(pb.read(root))
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert all_of(pb.read(root)) == want
    assert all_of(pb.read(root, progress=lambda done, total: None)) == want


def test_loading_leaves_no_thread_behind(many):
    before = threading.active_count()
    pb.read(many(100), progress=lambda done, total: None)
    assert threading.active_count() == before


# ---- progress


def test_progress_counts_up_to_all_files(many, monkeypatch):
    monkeypatch.setattr(load, "_PROGRESS_SECS", 0.001)
    reported = []
    pb.read(many(400), progress=lambda done, total: reported.append((done, total)))
    assert reported[-1] == (400, 400)
    assert {total for _, total in reported} == {400}
    assert [done for done, _ in reported] == sorted(done for done, _ in reported)


def test_an_empty_log_directory_reports_no_progress(tmp_path):
    reported = []
    pb.read(tmp_path, progress=lambda *counts: reported.append(counts))
    assert reported == []


def test_progress_counts_archives_too(tmp_path):
    for i in range(6):
        path = write_run(tmp_path / f"run{i}", (0, 1.0))
        if i % 2:
            path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    reported = []
    log = pb.read(tmp_path, progress=lambda *counts: reported.append(counts))
    assert reported[-1] == (6, 6)
    assert {run.points for run in log.values()} == {1}


def test_a_refresh_reports_progress_on_what_is_new(many):
    root = many(5)
    log = pb.read(root)
    append(root / "run00003" / "events.out.tfevents.1", (2, 3.0))
    reported = []
    log.refresh(progress=lambda *counts: reported.append(counts))
    assert reported[-1] == (1, 1)


def test_an_interrupt_stops_the_loading(many, monkeypatch):
    monkeypatch.setattr(load, "_PROGRESS_SECS", 0.001)
    root = many(200)

    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pb.read(root, progress=interrupt)
    assert len(pb.read(root)) == 200


def test_what_was_not_loaded_because_of_an_interrupt_is_loaded_next_time(many, monkeypatch):
    root = many(20)
    log = pb.read(root)
    for path in root.rglob("*tfevents*"):
        append(path, (2, 3.0))

    def interrupt(files, **_):
        raise KeyboardInterrupt

    monkeypatch.setattr(runs_module, "load_files", interrupt)
    with pytest.raises(KeyboardInterrupt):
        log.refresh()
    monkeypatch.undo()
    log.refresh()
    assert {run.points for run in log.values()} == {3}


def test_files_changed_last_are_read_first(tmp_path, monkeypatch):
    for name, mtime in (("old", 1e9), ("new", 3e9), ("middle", 2e9)):
        os.utime(write_run(tmp_path / name), (mtime, mtime))
    order = []
    monkeypatch.setattr(
        runs_module,
        "load_files",
        lambda files, **_: [
            order.append(os.path.basename(os.path.dirname(file.path))) or file.load() for file in files
        ],
    )
    pb.read(tmp_path)
    assert order == ["new", "middle", "old"]


# ---- archives


def test_an_archived_file_is_read_like_the_original(tmp_path):
    events = [version(), *scalars("loss", *((i, i / 7) for i in range(2000)))]
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(event_file(*events))
    want = pb.read(tmp_path)["."].series("loss")
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    got = pb.read(tmp_path)["."].series("loss")
    assert got.values.tobytes() == want.values.tobytes()
    assert got.steps.tobytes() == want.steps.tobytes()
    assert got.wall_times.tobytes() == want.wall_times.tobytes()


def test_a_file_next_to_its_archived_copy_counts_once(tmp_path):
    path = write_run(tmp_path, (0, 1.0), (1, 2.0))
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
    run = pb.read(tmp_path)["."]
    assert values(run) == [1.0, 2.0]
    assert [os.path.basename(file.path) for file in run.files] == [path.name]


def test_an_archived_file_keeps_its_place_among_the_files_of_its_run(tmp_path):
    for i in range(3):
        path = write_run(tmp_path, (i, float(i)), name=f"events.out.tfevents.{i}")
        if i == 1:
            path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    assert values(pb.read(tmp_path)["."]) == [0.0, 1.0, 2.0]


def test_an_archive_of_several_members_is_one_file(tmp_path):
    first, second = event_file(version(), *scalars("loss", (0, 1.0))), event_file(*scalars("loss", (1, 2.0)))
    (tmp_path / "events.out.tfevents.1.gz").write_bytes(gzip.compress(first + second[:9]) + gzip.compress(second[9:]))
    assert values(pb.read(tmp_path)["."]) == [1.0, 2.0]


# ---- reading while it loads


def test_a_series_is_consistent_at_every_moment_while_its_file_grows(tmp_path):
    path = write_run(tmp_path, (0, 0.0))
    log = pb.read(tmp_path)
    failures = []
    done = threading.Event()

    def read():
        last = 0
        while not done.is_set():
            series = log["."].series("loss")
            n = len(series)
            if series.steps.tolist() != list(range(n)) or series.values.tolist() != list(range(n)) or n < last:
                failures.append(series)
            last = n

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    step = 1
    for _ in range(60):
        append(path, *((s, float(s)) for s in range(step, step + 40)))
        step += 40
        log.poll()
    done.set()
    for reader in readers:
        reader.join()
    assert failures == []
    assert len(log["."].series("loss")) == 1 + 60 * 40


# Up to 4096 points, a file's columns share their memory (kernel/c/events/points.c).
@pytest.mark.parametrize("count", [1, 4096, 4097])
def test_a_series_of_any_length_has_steps_times_values_and_marks_for_each_point(tmp_path, count):
    write_run(tmp_path, *((i, i / 2) for i in range(count)))
    series = pb.read(tmp_path)["."].series("loss")
    assert series.steps.tolist() == list(range(count))
    assert series.values.tolist() == [i / 2 for i in range(count)]
    assert len(series.wall_times) == len(series.orphaned) == count
    assert not series.orphaned.any()


class Disturbed:
    """A file's columns, with something that happens just before they are read for the first time."""

    def __init__(self, log, disturb, *, at_once):
        self._log, self._disturb, self._at_once = log, disturb, at_once

    def __getattr__(self, name):
        return getattr(self._log, name)

    def _first(self):
        disturb, self._disturb = self._disturb, None
        if disturb:
            disturb()

    def series(self, tag):
        return self._read_at_once(self._log.series, tag)

    def packed_series(self, tag):
        return self._read_at_once(self._log.packed_series, tag)

    def _read_at_once(self, read, tag):
        if not self._at_once:
            return None  # as if it had to be put together from several columns
        self._first()
        return read(tag)

    def point_columns(self, index):
        self._first()
        return self._log.point_columns(index)

    def span_columns(self, index):
        self._first()
        return self._log.span_columns(index)

    def stats(self, index):
        self._first()
        return self._log.stats(index)


@pytest.fixture(params=[True, False], ids=["at once", "from columns"])
def at_once(request):
    """Whether a series is read with one call of the kernel."""
    return request.param


@pytest.fixture
def disturbed(tmp_path, at_once):
    """A run of tags a and b whose file is replaced while it is read: first b, then a, and another c."""
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(event_file(version(), summary(scalar("a", 1.0), scalar("b", 2.0), scalar("z", 0.0))))
    run = pb.read(tmp_path)["."]
    run.tags()
    file: EventFile = run.files[0]

    def replace():
        path.write_bytes(event_file(version(), summary(scalar("b", 20.0), scalar("a", 10.0))))
        file.load()

    file.log = Disturbed(file.log, replace, at_once=at_once)
    return run


def test_a_file_replaced_while_a_series_is_read_does_not_give_another_tags_points(disturbed):
    assert values(disturbed, "a") == [10.0]


def test_a_tag_that_disappears_while_its_series_is_read_is_reported_missing(disturbed):
    with pytest.raises(pb.PulseboardError, match="no scalar tag 'z'"):
        disturbed.series("z")


def test_a_file_replaced_while_statistics_are_taken_does_not_mix_them_up(disturbed):
    assert {stats.tag: stats.last for stats in disturbed.stats()} == {"a": 10.0, "b": 20.0}


def test_a_restart_that_is_loaded_while_a_series_is_read_orphans_the_right_points(tmp_path, at_once):
    path = write_run(tmp_path, *((step, 1.0) for step in range(5)))
    run = pb.read(tmp_path)["."]
    file: EventFile = run.files[0]

    def restart():
        with path.open("ab") as stream:
            stream.write(event_file(session_start(2), *scalars("loss", (2, 7.0))))
        file.load()

    file.log = Disturbed(file.log, restart, at_once=at_once)
    assert values(run) == [1.0, 1.0, 7.0]
