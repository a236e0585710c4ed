"""The disk index: a restart reads only what is new, and results are the same as without an index."""

import gzip
import os
import time

import numpy as np
import pytest
from builders import event_file, scalar, scalars, session_start, summary, version
from charts.indexed_runs import index_files, read, read_and_save
from log_directories import all_of, append
from series_files import write_series

import pulseboard as pb
from pulseboard.charts import index as index_module

# ---- a restart


def test_a_restart_does_not_open_files_that_have_not_changed(runs, cache):
    before = read_and_save(runs)
    assert len(index_files(cache)) == 3  # the small run is read as fast as its index would be
    for path in runs.glob("run*/*"):  # overwrite the data, but keep size and time
        stat = path.stat()
        path.write_bytes(b"\0" * stat.st_size)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    found, index = read(runs)
    assert index.restored == 3
    assert all_of(found) == before
    assert all_of(found) == before, "the second query"


def test_a_restart_continues_reading_where_the_index_ends(runs):
    read_and_save(runs)
    path = runs / "run0" / "events.out.tfevents.1"
    append(path, (2000, 7.0), (2001, float("nan")))
    end = path.stat().st_size
    found, index = read(runs)
    assert (index.restored, found["run0"].files[0].log.generation) == (3, 0), "it did not start over"
    assert found["run0"].files[0].log.offset == end
    assert all_of(found) == all_of(pb.read(runs))
    index.close()
    assert read_and_save(runs) == all_of(pb.read(runs)), "the index that replaced the first one"


def test_columns_that_were_never_queried_are_carried_into_the_next_index(runs):
    read_and_save(runs)
    for step in range(3):
        for path in runs.glob("run*/*"):
            append(path, *((2000 + i, 1.0) for i in range(step * 1000, step * 1000 + 1000)))
        _, index = read(runs)
        index.close()
    found, index = read(runs)
    assert index.restored == 3
    assert all_of(found) == all_of(pb.read(runs))


def test_restarts_notes_spans_and_ranks_are_restored(tmp_path):
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
    before = read_and_save(tmp_path / "runs")
    found, index = read(tmp_path / "runs")
    assert index.restored == 1
    assert all_of(found) == before == all_of(pb.read(tmp_path / "runs"))
    assert any("Skipped 1 record" in note for note in before["notes"])


def test_files_without_a_version_record_are_restored(tmp_path):
    top = tmp_path / "runs" / "r"
    top.mkdir(parents=True)
    for i, first_step in enumerate((0, 1500, 1000)):
        points = [(first_step + k, float(k)) for k in range(2000)]
        (top / f"events.out.tfevents.{i}").write_bytes(event_file(*scalars("loss", *points)))
    before = read_and_save(tmp_path / "runs")
    found, index = read(tmp_path / "runs")
    assert index.restored == 3
    assert all_of(found) == before == all_of(pb.read(tmp_path / "runs"))


def test_an_archived_file_is_not_unpacked_again(runs, monkeypatch):
    rng = np.random.default_rng(0)
    path = write_series(runs / "old" / "events.out.tfevents.9", range(9000), rng.normal(size=9000))
    with gzip.open(f"{path}.gz", "wb") as stream:
        stream.write(path.read_bytes())
    path.unlink()
    before = read_and_save(runs)
    monkeypatch.setattr(gzip, "open", lambda *_: pytest.fail("it was unpacked"))
    found, index = read(runs)
    assert index.restored == 4
    assert all_of(found) == before


def test_a_renamed_run_keeps_its_index(runs):
    read_and_save(runs)
    (runs / "run0").rename(runs / "other")
    found, index = read(runs)
    assert index.restored == 3
    assert all_of(found) == all_of(pb.read(runs))


# ---- an event file that was replaced


def test_a_replaced_file_is_read_from_the_start(runs):
    read_and_save(runs)
    path = runs / "run0" / "events.out.tfevents.1"
    path.write_bytes(event_file(version(), *scalars("other", *((i, 3.0) for i in range(3000)))))
    found, _ = read(runs)
    assert found["run0"].tags() == ["other"]
    assert all_of(found) == all_of(pb.read(runs))


def test_a_truncated_file_is_read_from_the_start(runs):
    read_and_save(runs)
    os.truncate(runs / "run0" / "events.out.tfevents.1", 50_000)
    found, _ = read(runs)
    assert all_of(found) == all_of(pb.read(runs))


def test_a_reused_inode_is_recognized_by_the_first_bytes_of_the_file(runs):
    read_and_save(runs)
    path = runs / "run0" / "events.out.tfevents.1"
    data = bytearray(path.read_bytes())
    with path.open("r+b") as stream:  # the same inode and the same end, but longer
        stream.write(event_file(*scalars("x", (1, 1.0))) + bytes(data[:100]) + bytes(data))
    found, _ = read(runs)
    assert all_of(found) == all_of(pb.read(runs))


# ---- when it is written


def test_a_growing_file_is_written_again_once_enough_of_it_is_new(runs, cache, monkeypatch):
    monkeypatch.setattr(index_module, "_WRITE_AFTER_SECS", 0.01)
    found, index = read(runs)
    deadline = time.monotonic() + 120
    while len(index_files(cache)) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    index.save()
    times = {path: path.stat().st_mtime_ns for path in index_files(cache)}
    assert len(times) == 3
    path = runs / "run0" / "events.out.tfevents.1"
    append(path, (2000, 1.0))
    found.poll()
    assert index._due() == []
    append(path, *((2001 + i, 1.0) for i in range(1000)))
    found.poll()
    assert len(index._due()) == 1
    index.close()
    changed = [path for path, at in times.items() if path.stat().st_mtime_ns != at]
    assert len(changed) == 1


def test_log_directories_are_never_written_to(runs):
    before = sorted((str(path), path.stat().st_mtime_ns) for path in runs.rglob("*"))
    read_and_save(runs)
    read_and_save(runs)
    assert sorted((str(path), path.stat().st_mtime_ns) for path in runs.rglob("*")) == before
