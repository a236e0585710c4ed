"""Loading files that grow, shrink, change while being read, or are not files at all."""

import errno
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from builders import event_file, head, record, scalars, session_start, version
from tensorboard.compat.proto.event_pb2 import Event

from pulseboard.kernel import reader
from pulseboard.kernel.reader import Batch, EventLog

SMALL = event_file(version(), *scalars("loss", (1, 0.5), (2, 0.25), (3, 0.125)))
OTHER = event_file(version(), *scalars("loss", (7, 8.0), (8, 16.0), (9, 32.0)))


def loaded(path: Path, log: EventLog | None = None) -> EventLog:
    log = log or EventLog()
    log.load(os.fsencode(path))
    return log


def steps(log: EventLog) -> list[int]:
    return np.frombuffer(log.point_columns(0)[0], np.int64).tolist() if log.tags() else []


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.out.tfevents.1.host"


# ---------- not a regular file


def test_a_fifo_does_not_block_the_reader(path):
    os.mkfifo(path)
    assert loaded(path).end == reader.END_NOT_A_FILE


def test_a_directory_is_not_a_file(tmp_path):
    assert loaded(tmp_path).end == reader.END_NOT_A_FILE


def test_a_device_is_not_a_file():
    assert loaded(Path("/dev/zero")).end == reader.END_NOT_A_FILE


def test_a_missing_file_is_reported(path):
    log = loaded(path)
    assert (log.end, log.error) == (reader.END_ERRNO, errno.ENOENT)


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read every file, so access is never denied")
def test_a_file_without_read_permission_is_reported(path):
    path.write_bytes(SMALL)
    path.chmod(0)
    log = loaded(path)
    assert (log.end, log.error) == (reader.END_ERRNO, errno.EACCES)


def test_an_empty_file_is_clean(path):
    path.touch()
    log = loaded(path)
    assert (log.end, log.offset, log.tags()) == (reader.END_CLEAN, 0, [])


# ---------- files that grow


def test_a_file_that_grows_byte_by_byte_is_never_read_again_from_the_start(path):
    log = EventLog()
    with path.open("wb", buffering=0) as file:
        for byte in SMALL:
            file.write(bytes([byte]))
            loaded(path, log)
    assert (log.end, log.generation, log.offset, log.size) == (reader.END_CLEAN, 0, len(SMALL), len(SMALL))
    assert steps(log) == [1, 2, 3]


@pytest.mark.parametrize("cut", range(len(SMALL) + 1))
def test_a_torn_tail_is_read_when_the_rest_comes(path, cut):
    path.write_bytes(SMALL[:cut])
    log = loaded(path)
    assert log.end in {reader.END_CLEAN, reader.END_TORN}
    with path.open("ab") as file:
        file.write(SMALL[cut:])
    assert steps(loaded(path, log)) == [1, 2, 3]
    assert (log.end, log.generation) == (reader.END_CLEAN, 0)


def test_records_longer_than_a_piece_are_read(path):
    long = [Event(graph_def=bytes([i]) * size) for i, size in enumerate([300_000, 1, 262_144, 262_128, 2_000_000])]
    file = event_file(version(), *long, *scalars("loss", (1, 0.5)))
    path.write_bytes(file)
    log = loaded(path)
    assert (log.end, log.offset, log.tags()[0][3], log.points) == (reader.END_CLEAN, len(file), 5, 1)


def test_a_long_record_can_arrive_slowly(path):
    file = event_file(version(), Event(graph_def=bytes(700_000)), *scalars("loss", (1, 0.5)))
    log = EventLog()
    for end in range(0, len(file) + 50_000, 50_000):
        path.write_bytes(file[:end])
        loaded(path, log)
    assert (log.end, log.generation, log.points) == (reader.END_CLEAN, 0, 1)


def test_the_longest_allowed_length_takes_no_memory_before_its_bytes_arrive(path):
    path.write_bytes(SMALL + head(2**31 - 1) + bytes(600_000))
    log = loaded(path)
    assert (log.end, log.offset, log.points) == (reader.END_TORN, len(SMALL), 3)


def test_an_impossible_length_ends_the_file_there(path):
    path.write_bytes(SMALL + head(2**40) + SMALL)
    log = loaded(path)
    assert (log.end, log.offset, log.points) == (reader.END_HUGE, len(SMALL), 3)


def test_a_bad_length_ends_the_file_until_it_is_fixed(path):
    broken = bytearray(SMALL + SMALL)
    broken[len(SMALL)] ^= 1
    path.write_bytes(broken)
    log = loaded(path)
    assert (log.end, log.offset) == (reader.END_BAD_LENGTH, len(SMALL))
    path.write_bytes(SMALL + SMALL)
    assert loaded(path, log).end == reader.END_CLEAN
    assert (log.points, log.generation) == (6, 0)


# ---------- files that change


def test_a_file_truncated_before_the_offset_is_read_again(path):
    path.write_bytes(SMALL)
    log = loaded(path)
    os.truncate(path, len(SMALL) - 1)
    assert steps(loaded(path, log)) == [1, 2]
    assert (log.generation, log.end) == (1, reader.END_TORN)


def test_removing_a_torn_tail_does_not_restart_the_reading(path):
    path.write_bytes(SMALL + b"torn")
    log = loaded(path)
    os.truncate(path, len(SMALL))
    assert steps(loaded(path, log)) == [1, 2, 3]
    assert (log.generation, log.end) == (0, reader.END_CLEAN)


def test_another_file_of_the_same_size_in_its_place_is_read(path):
    assert len(SMALL) == len(OTHER)
    path.write_bytes(SMALL)
    log = loaded(path)
    other = path.with_name("other")
    other.write_bytes(OTHER)
    other.replace(path)
    assert steps(loaded(path, log)) == [7, 8, 9]
    assert (log.generation, log.identity[1]) == (1, path.stat().st_ino)


def test_an_identical_copy_in_its_place_is_read_again_too(path):
    path.write_bytes(SMALL)
    log = loaded(path)
    other = path.with_name("other")
    other.write_bytes(SMALL)
    other.replace(path)
    assert steps(loaded(path, log)) == [1, 2, 3]
    assert log.generation == 1


def test_a_file_overwritten_in_place_is_read_again(path):
    path.write_bytes(SMALL)
    log, inode = loaded(path), path.stat().st_ino
    path.write_bytes(OTHER)
    assert path.stat().st_ino == inode
    assert steps(loaded(path, log)) == [7, 8, 9]
    assert log.generation == 1


def test_a_file_that_was_only_touched_is_not_read_again(path):
    path.write_bytes(SMALL)
    log = loaded(path)
    os.utime(path, ns=(1, 1))
    assert steps(loaded(path, log)) == [1, 2, 3]
    assert (log.generation, log.mtime_ns) == (0, 1)


def test_the_points_of_a_deleted_file_stay_until_a_new_file_replaces_it(path):
    path.write_bytes(SMALL)
    log = loaded(path)
    path.rename(path.with_name("elsewhere"))
    assert steps(loaded(path, log)) == [1, 2, 3]
    assert log.end == reader.END_ERRNO
    path.write_bytes(OTHER)
    assert steps(loaded(path, log)) == [7, 8, 9]
    assert (log.end, log.error) == (reader.END_CLEAN, 0)


def test_a_log_that_starts_over_uses_the_state_it_was_given(path):
    path.write_bytes(event_file(*scalars("loss", (5, 0.5))))
    log = EventLog()
    log.reset(0.0, 9)
    loaded(path, log)
    path.write_bytes(event_file(*scalars("loss", (4, 0.5))))
    loaded(path, log)
    assert log.started_from == (0.0, 9)
    assert log.state == (0.0, 9)


# ---------- many at once


def test_a_batch_reads_every_file_once_with_any_number_of_threads(tmp_path):
    paths = []
    for i in range(40):
        paths.append(tmp_path / f"events.{i}")
        paths[-1].write_bytes(event_file(version(), *scalars("loss", *((step, 0.5) for step in range(i)))))
    logs = [EventLog() for _ in paths]
    batch = Batch(logs, [os.fsencode(p) for p in paths])
    threads = [threading.Thread(target=batch.work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert batch.done == 40
    assert [log.points for log in logs] == list(range(40))


def test_a_cancelled_batch_reads_no_further_file(path):
    path.write_bytes(SMALL)
    log = EventLog()
    batch = Batch([log], [os.fsencode(path)])
    batch.cancel()
    batch.work()
    assert (batch.done, log.points) == (0, 0)


def test_a_log_can_be_queried_while_another_thread_loads_it(path):
    piece = event_file(*(e for step in range(50) for e in [*scalars(f"tag {step}", (step, 0.5)), session_start(step)]))
    path.write_bytes(event_file(version()))
    log, done = EventLog(), threading.Event()

    def grow() -> None:
        for _ in range(60):
            with path.open("ab") as file:
                file.write(piece + record(b"\xff"))
            loaded(path, log)
        done.set()

    thread = threading.Thread(target=grow)
    thread.start()
    while not done.is_set():
        for index, (name, *_) in enumerate(log.tags()):
            columns = log.point_columns(index)
            assert len({len(bytes(column)) for column in columns[:3]}) == 1
            assert set(np.frombuffer(columns[0], np.int64).tolist()) == {int(name.removeprefix("tag "))}
        log.restarts(), log.notes()
    thread.join()
    assert (log.points, len(log.restarts()), log.notes()[0]) == (3000, 3000, 60)
