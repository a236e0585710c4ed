"""The disk index under damage: whatever happens to its files, results stay correct."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from charts.indexed_runs import index_files, read, read_and_save
from log_directories import all_of

import pulseboard as pb


def damage_and_compare(runs, cache, change):
    before = all_of(pb.read(runs))
    read_and_save(runs)
    for path in index_files(cache):
        change(path)
    found, index = read(runs)
    assert all_of(found) == before
    index.close()
    found, index = read(runs)
    assert all_of(found) == before


@pytest.mark.parametrize("position", [0.0, 0.0003, 0.3, 0.9, 0.985, 0.99, 0.995, 0.999, 0.9999])
def test_a_flipped_bit_anywhere_changes_no_result(runs, cache, position):
    def flip(path):
        data = bytearray(path.read_bytes())
        data[int(len(data) * position)] ^= 0x40
        path.write_bytes(data)

    damage_and_compare(runs, cache, flip)


@pytest.mark.parametrize("other", [b"PBINDEX\0", b"PBINDEX\2"], ids=["older", "newer"])
def test_an_index_of_another_version_is_not_read_and_is_replaced(runs, cache, other):
    def of_other_version(path):
        data = path.read_bytes()
        assert data.count(b"PBINDEX\1") == 2  # at both ends, so that a version's checksums are its own
        path.write_bytes(data.replace(b"PBINDEX\1", other))

    damage_and_compare(runs, cache, of_other_version)
    read_and_save(runs)
    assert all(path.read_bytes().startswith(b"PBINDEX\1") for path in index_files(cache))


@pytest.mark.parametrize("seed", range(20))
def test_an_overwritten_range_changes_no_result(runs, cache, seed):
    rng = np.random.default_rng(seed)

    def scramble(path):
        data = np.frombuffer(path.read_bytes(), np.uint8).copy()
        start = rng.integers(len(data))
        data[start : start + rng.integers(1, 5000)] = rng.integers(256)
        path.write_bytes(data.tobytes())

    damage_and_compare(runs, cache, scramble)


@pytest.mark.parametrize("size", [0, 1, 31, 40, 1000, 20_000])
def test_a_truncated_index_changes_no_result(runs, cache, size):
    damage_and_compare(runs, cache, lambda path: os.truncate(path, size))


def test_a_directory_or_a_pipe_in_place_of_an_index_changes_no_result(runs, cache):
    def replace(path):
        path.unlink()
        if path.name.endswith(("0", "2", "4", "6", "8")):
            path.mkdir()
        else:
            os.mkfifo(path)

    damage_and_compare(runs, cache, replace)


def test_an_index_removed_or_truncated_while_in_use_changes_no_result(runs, cache):
    before = read_and_save(runs)
    found, _ = read(runs)
    first, second, third = index_files(cache)
    first.unlink()
    os.truncate(second, 100)
    third.write_bytes(b"PBINDEX\1" * 10_000)
    assert all_of(found) == before


def test_all_threads_that_need_a_lost_index_get_the_correct_series(runs, cache):
    read_and_save(runs)
    expected = pb.read(runs)["run1"].series("loss").values
    found, _ = read(runs)
    shutil.rmtree(cache)
    results = []
    threads = [threading.Thread(target=lambda: results.append(found["run1"].series("loss").values)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    assert all(np.array_equal(result, expected) for result in results)


def test_a_damaged_index_is_removed_so_that_the_next_start_writes_a_new_one(runs, cache):
    before = read_and_save(runs)
    for path in index_files(cache):
        data = bytearray(path.read_bytes())
        data[1000] ^= 1
        path.write_bytes(data)
    found, _ = read(runs)
    assert all_of(found) == before
    assert index_files(cache) == []


# ---- several processes, and killed ones

WRITER = """
    import sys, time
    import pulseboard as pb
    from pulseboard.charts.index import Index
    while True:
        index = Index()
        runs = pb.read(sys.argv[1], cache=index)
        for run in runs.values():
            for tag in run.tags("scalar"):
                run.series(tag)
        index._saved.clear()      # as if everything were new
        index.loaded([file for run in runs.values() for file in run.files])
        print("round", flush=True)
        index.close()
"""


def start_writer(top):
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(WRITER), str(top)], stdout=subprocess.PIPE)


def test_a_process_killed_while_writing_leaves_a_correct_index(runs, cache):
    before = all_of(pb.read(runs))
    rng = np.random.default_rng(0)
    for _ in range(6):
        process = start_writer(runs)
        process.stdout.readline()
        time.sleep(rng.uniform(0, 0.02))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        found, _ = read(runs)
        assert all_of(found) == before


def test_two_processes_that_share_an_index_both_get_correct_results(runs):
    before = all_of(pb.read(runs))
    processes = [start_writer(runs) for _ in range(2)]
    try:
        for process in processes:
            process.stdout.readline()
        for _ in range(15):
            found, index = read(runs)
            assert all_of(found) == before
            index.close()
    finally:
        for process in processes:
            process.kill()
            process.wait()
            process.stdout.close()
