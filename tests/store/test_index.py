"""The disk index: a restart reads only what is new, and whatever happens to the index, answers stay right."""

import gzip
import os
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from builders import event_file, scalar, scalars, session_start, summary, version
from log_directories import all_of, append
from series_files import write_series

import pulseboard as pb
from pulseboard.store import index as index_module
from pulseboard.store.index import Index


def read(top, **options):
    """Everything the log says, by way of the index; and the index."""
    index = Index(**options)
    log = pb.read(top, cache=index)
    return log, index


def saved(top, **options):
    """The log read once and kept in the index."""
    log, index = read(top, **options)
    index.close()
    return all_of(log)


def indexes(cache):
    return sorted(path for path in cache.rglob("*") if path.is_file())


# ---- a restart


def test_a_second_start_reads_no_byte_of_files_that_have_not_changed(runs, cache, monkeypatch):
    before = saved(runs)
    assert len(indexes(cache)) == 3  # the small one is read as quickly as its index would be
    for path in runs.glob("run*/*"):  # what cannot be read need not be
        stat = path.stat()
        path.write_bytes(b"\0" * stat.st_size)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    log, index = read(runs)
    assert index.restored == 3
    assert all_of(log) == before
    assert all_of(log) == before, "asked again"


def test_a_second_start_reads_from_where_the_first_ended(runs):
    saved(runs)
    path = runs / "run0" / "events.out.tfevents.1"
    append(path, (2000, 7.0), (2001, float("nan")))
    end = path.stat().st_size
    log, index = read(runs)
    assert (index.restored, log["run0"].files[0].log.generation) == (3, 0), "it did not begin anew"
    assert log["run0"].files[0].log.offset == end
    assert all_of(log) == all_of(pb.read(runs))
    index.close()
    assert saved(runs) == all_of(pb.read(runs)), "the index that was written over the first one"


def test_columns_that_nobody_asked_for_go_over_into_the_next_index(runs):
    saved(runs)
    for step in range(3):
        for path in runs.glob("run*/*"):
            append(path, *((2000 + i, 1.0) for i in range(step * 1000, step * 1000 + 1000)))
        _, index = read(runs)
        index.close()
    log, index = read(runs)
    assert index.restored == 3
    assert all_of(log) == all_of(pb.read(runs))


def test_restarts_notes_spans_and_ranks_come_back_too(tmp_path):
    top = tmp_path / "runs" / "r"
    top.mkdir(parents=True)
    many = [summary(scalar("a", float(i)), scalar("b/c", -float(i)), step=i, wall_time=100.0 + i) for i in range(3000)]
    damaged = bytearray(event_file(summary(scalar("a", 1.0), step=5000)))
    damaged[-6] ^= 1
    (top / "events.out.tfevents.1").write_bytes(
        event_file(version(), *many, session_start(2500), *scalars("a", *((i, 1.0) for i in range(2500, 2600))))
        + bytes(damaged)
        + event_file(*scalars("a", (2600, 1.0)), session_start(2550), *scalars("a", (2550, 2.0)))
        + b"torn"
    )
    before = saved(tmp_path / "runs")
    log, index = read(tmp_path / "runs")
    assert index.restored == 1
    assert all_of(log) == before == all_of(pb.read(tmp_path / "runs"))
    assert any("Skipped 1 record" in note for note in before["notes"])


def test_files_without_a_version_record_keep_what_the_files_before_them_left(tmp_path):
    top = tmp_path / "runs" / "r"
    top.mkdir(parents=True)
    for i, begin in enumerate((0, 1500, 1000)):
        points = [(begin + k, float(k)) for k in range(2000)]
        (top / f"events.out.tfevents.{i}").write_bytes(event_file(*scalars("loss", *points)))
    before = saved(tmp_path / "runs")
    log, index = read(tmp_path / "runs")
    assert index.restored == 3
    assert all_of(log) == before == all_of(pb.read(tmp_path / "runs"))


def test_an_archived_file_need_not_be_unpacked_again(runs, monkeypatch):
    rng = np.random.default_rng(0)
    path = write_series(runs / "old" / "events.out.tfevents.9", range(9000), rng.normal(size=9000))
    with gzip.open(f"{path}.gz", "wb") as stream:
        stream.write(path.read_bytes())
    path.unlink()
    before = saved(runs)
    monkeypatch.setattr(gzip, "open", lambda *_: pytest.fail("it was unpacked"))
    log, index = read(runs)
    assert index.restored == 4
    assert all_of(log) == before


def test_a_renamed_run_is_found_in_the_index(runs):
    saved(runs)
    (runs / "run0").rename(runs / "other")
    log, index = read(runs)
    assert index.restored == 3
    assert all_of(log) == all_of(pb.read(runs))


# ---- the event file is another one


def test_a_file_that_was_replaced_is_read_anew(runs):
    saved(runs)
    path = runs / "run0" / "events.out.tfevents.1"
    path.write_bytes(event_file(version(), *scalars("other", *((i, 3.0) for i in range(3000)))))
    log, _ = read(runs)
    assert log["run0"].tags() == ["other"]
    assert all_of(log) == all_of(pb.read(runs))


def test_a_file_that_was_cut_is_read_anew(runs):
    saved(runs)
    path = runs / "run0" / "events.out.tfevents.1"
    os.truncate(path, 50_000)
    log, _ = read(runs)
    assert all_of(log) == all_of(pb.read(runs))


def test_an_inode_that_went_over_to_another_file_is_told_by_the_first_bytes(runs):
    saved(runs)
    path = runs / "run0" / "events.out.tfevents.1"
    data = bytearray(path.read_bytes())
    with path.open("r+b") as stream:  # the same inode, the same end, and longer
        stream.write(event_file(*scalars("x", (1, 1.0))) + bytes(data[:100]) + bytes(data))
    log, _ = read(runs)
    assert all_of(log) == all_of(pb.read(runs))


# ---- the index is damaged


def damage_and_compare(runs, cache, change):
    before = all_of(pb.read(runs))
    saved(runs)
    for path in indexes(cache):
        change(path)
    log, index = read(runs)
    assert all_of(log) == before
    index.close()
    log, index = read(runs)
    assert all_of(log) == before


@pytest.mark.parametrize("share", [0.0, 0.0003, 0.3, 0.9, 0.985, 0.99, 0.995, 0.999, 0.9999])
def test_one_wrong_byte_anywhere_changes_no_answer(runs, cache, share):
    def flip(path):
        data = bytearray(path.read_bytes())
        data[int(len(data) * share)] ^= 0x40
        path.write_bytes(data)

    damage_and_compare(runs, cache, flip)


@pytest.mark.parametrize("seed", range(20))
def test_noise_changes_no_answer(runs, cache, seed):
    rng = np.random.default_rng(seed)

    def scramble(path):
        data = np.frombuffer(path.read_bytes(), np.uint8).copy()
        start = rng.integers(len(data))
        data[start : start + rng.integers(1, 5000)] = rng.integers(256)
        path.write_bytes(data.tobytes())

    damage_and_compare(runs, cache, scramble)


@pytest.mark.parametrize("size", [0, 1, 31, 40, 1000, 20_000])
def test_an_index_that_was_cut_changes_no_answer(runs, cache, size):
    damage_and_compare(runs, cache, lambda path: os.truncate(path, size))


def test_a_directory_or_a_pipe_in_the_place_of_an_index_changes_no_answer(runs, cache):
    def replace(path):
        path.unlink()
        if path.name.endswith(("0", "2", "4", "6", "8")):
            path.mkdir()
        else:
            os.mkfifo(path)

    damage_and_compare(runs, cache, replace)


def test_an_index_that_is_removed_or_cut_while_in_use_changes_no_answer(runs, cache):
    before = saved(runs)
    log, _ = read(runs)
    first, second, third = indexes(cache)
    first.unlink()
    os.truncate(second, 100)
    third.write_bytes(b"PBINDEX\1" * 10_000)
    assert all_of(log) == before


def test_threads_that_meet_a_lost_index_all_get_the_right_answer(runs, cache):
    saved(runs)
    expected = pb.read(runs)["run1"].series("loss").values
    log, _ = read(runs)
    shutil.rmtree(cache)
    answers = []

    def ask():
        answers.append(log["run1"].series("loss").values)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8
    assert all(np.array_equal(answer, expected) for answer in answers)


def test_a_damaged_index_is_removed_so_that_the_next_start_makes_a_new_one(runs, cache):
    before = saved(runs)
    for path in indexes(cache):
        data = bytearray(path.read_bytes())
        data[1000] ^= 1
        path.write_bytes(data)
    log, _ = read(runs)
    assert all_of(log) == before
    assert indexes(cache) == []


# ---- several processes, and ones that are killed

WRITER = """
    import sys, time
    import pulseboard as pb
    from pulseboard.store.index import Index
    while True:
        index = Index()
        log = pb.read(sys.argv[1], cache=index)
        for run in log.values():
            for tag in run.tags("scalar"):
                run.series(tag)
        index._saved.clear()      # as if all of it were new
        index.loaded([file for run in log.values() for file in run.files])
        print("round", flush=True)
        index.close()
"""


def writer(top):
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(WRITER), str(top)], stdout=subprocess.PIPE)


def test_a_process_killed_while_it_writes_leaves_an_index_that_is_right(runs, cache):
    before = all_of(pb.read(runs))
    rng = np.random.default_rng(0)
    for _ in range(6):
        process = writer(runs)
        process.stdout.readline()
        time.sleep(rng.uniform(0, 0.02))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        log, _ = read(runs)
        assert all_of(log) == before


def test_two_processes_on_one_index_both_get_right_answers(runs):
    before = all_of(pb.read(runs))
    processes = [writer(runs) for _ in range(2)]
    try:
        for process in processes:
            process.stdout.readline()
        for _ in range(15):
            log, index = read(runs)
            assert all_of(log) == before
            index.close()
    finally:
        for process in processes:
            process.kill()
            process.wait()
            process.stdout.close()


# ---- no room


def test_a_disk_that_takes_no_more_stops_the_writing_and_nothing_else(runs, cache):
    before = all_of(pb.read(runs))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))  # a write past this fails, as on a full disk
    try:
        log, index = read(runs)
        index.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert all_of(log) == before
    assert "not written" in index.problem
    assert indexes(cache) == [], "half an index stays behind"
    assert saved(runs) == before


def test_a_disk_that_is_nearly_full_is_left_alone(runs, cache, monkeypatch):
    usage = shutil.disk_usage(runs)._replace(free=1000)
    monkeypatch.setattr(index_module.shutil, "disk_usage", lambda _: usage)
    _, index = read(runs)
    index.close()
    assert (indexes(cache), "No space left" in index.problem) == ([], True)


def test_a_cache_directory_that_cannot_be_made_stops_nothing(runs, tmp_path):
    (tmp_path / "file").write_text("in the way")
    log, index = read(runs, directory=tmp_path / "file")
    index.close()
    assert all_of(log) == all_of(pb.read(runs))
    assert index.problem


def test_the_index_stays_within_its_bound_and_keeps_what_was_used_last(runs, cache):
    saved(runs)
    sizes = [path.stat().st_size for path in indexes(cache)]
    log, _ = read(runs)
    inode = (runs / "run1" / "events.out.tfevents.1").stat().st_ino
    kept = next(path for path in indexes(cache) if path.name.endswith(f"-{inode:x}"))
    for path in indexes(cache):
        os.utime(path, (1e9, 1e9 + (path == kept)))
    left = kept.with_name("1-1.part-1-1")
    left.write_bytes(b"left by a process that was killed")
    os.utime(left, (1e9, 1e9))
    index = Index(most_bytes=max(sizes) + 10)
    path = write_series(runs / "new" / "events.out.tfevents.1", range(1000), range(1000))
    log = pb.read(runs / "new", cache=index)
    index.close()
    assert sum(path.stat().st_size for path in indexes(cache)) <= max(sizes) + 10
    assert all_of(pb.read(runs, cache=Index())) == all_of(pb.read(runs))
    assert not left.exists()
    assert path.exists()
    assert len(log) == 1


def test_a_restored_index_counts_as_used(runs, cache):
    saved(runs)
    for path in indexes(cache):
        os.utime(path, (1e9, 1e9))
    read(runs)
    assert all(time.time() - path.stat().st_mtime < 100 for path in indexes(cache))


# ---- when it is written


def test_a_growing_file_is_written_anew_only_once_a_share_of_it_is_new(runs, cache, monkeypatch):
    monkeypatch.setattr(index_module, "_GATHER_SECS", 0.01)
    log, index = read(runs)
    deadline = time.monotonic() + 20
    while len(indexes(cache)) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    index.save()
    times = {path: path.stat().st_mtime_ns for path in indexes(cache)}
    assert len(times) == 3
    path = runs / "run0" / "events.out.tfevents.1"
    append(path, (2000, 1.0))
    log.poll()
    assert index._due() == []
    append(path, *((2001 + i, 1.0) for i in range(1000)))
    log.poll()
    assert len(index._due()) == 1
    index.close()
    changed = [path for path, at in times.items() if path.stat().st_mtime_ns != at]
    assert len(changed) == 1


def test_log_directories_are_never_written_to(runs):
    before = sorted((str(path), path.stat().st_mtime_ns) for path in runs.rglob("*"))
    saved(runs)
    saved(runs)
    assert sorted((str(path), path.stat().st_mtime_ns) for path in runs.rglob("*")) == before
