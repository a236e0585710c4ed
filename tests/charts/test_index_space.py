"""The disk index and disk space: full disks stop only the writing, and the index stays within its limit."""

import os
import resource
import shutil
import time

from charts.indexed_runs import index_files, read, read_and_save
from log_directories import all_of
from series_files import write_series

import pulseboard as pb
from pulseboard.charts import index as index_module
from pulseboard.charts.index import Index


def test_a_full_disk_stops_the_writing_and_nothing_else(runs, cache):
    before = all_of(pb.read(runs))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))  # a write past this fails, as on a full disk
    try:
        found, index = read(runs)
        index.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert all_of(found) == before
    assert "not written" in index.problem
    assert index_files(cache) == [], "half an index is left"
    assert read_and_save(runs) == before


def test_nothing_is_written_to_a_nearly_full_disk(runs, cache, monkeypatch):
    usage = shutil.disk_usage(runs)._replace(free=1000)
    monkeypatch.setattr(index_module.shutil, "disk_usage", lambda _: usage)
    _, index = read(runs)
    index.close()
    assert (index_files(cache), "No space left" in index.problem) == ([], True)


def test_a_cache_directory_that_cannot_be_created_stops_nothing(runs, tmp_path):
    (tmp_path / "file").write_text("in the way")
    found, index = read(runs, directory=tmp_path / "file")
    index.close()
    assert all_of(found) == all_of(pb.read(runs))
    assert index.problem


def test_the_index_stays_within_its_limit_and_keeps_what_was_used_last(runs, cache):
    read_and_save(runs)
    sizes = [path.stat().st_size for path in index_files(cache)]
    found, _ = read(runs)
    inode = (runs / "run1" / "events.out.tfevents.1").stat().st_ino
    kept = next(path for path in index_files(cache) if path.name.endswith(f"-{inode:x}"))
    for path in index_files(cache):
        os.utime(path, (1e9, 1e9 + (path == kept)))
    stale = kept.with_name("1-1.part-1-1")
    stale.write_bytes(b"left by a killed process")
    os.utime(stale, (1e9, 1e9))
    index = Index(max_bytes=max(sizes) + 10)
    path = write_series(runs / "new" / "events.out.tfevents.1", range(1000), range(1000))
    found = pb.read(runs / "new", cache=index)
    index.close()
    assert sum(path.stat().st_size for path in index_files(cache)) <= max(sizes) + 10
    assert all_of(pb.read(runs, cache=Index())) == all_of(pb.read(runs))
    assert not stale.exists()
    assert path.exists()
    assert len(found) == 1


def test_restoring_from_an_index_counts_as_use(runs, cache):
    read_and_save(runs)
    for path in index_files(cache):
        os.utime(path, (1e9, 1e9))
    read(runs)
    assert all(time.time() - path.stat().st_mtime < 100 for path in index_files(cache))
