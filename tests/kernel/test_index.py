"""The index of one event file: a log restored from it has the same contents, and can read on from there."""

import os

import numpy as np
from builders import event_file, scalar, scalars, session_start, summary, version
from event_bytes import contents, fed, files
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorboard.compat.proto.event_pb2 import Event

from pulseboard.kernel.reader import EventLog


def saved(log, path):
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    try:
        assert log.save(fd) == 0
    finally:
        os.close(fd)
    return os.fsencode(path)


def restored(index, event_file=b""):
    log = EventLog()
    assert log.restore(index, event_file)
    return log


@settings(deadline=None)
@given(files, st.data())
def test_a_restored_log_is_the_same_and_reads_on(tmp_path_factory, file, data):
    directory = tmp_path_factory.mktemp("index")
    cut = data.draw(st.integers(0, len(file)))
    log = EventLog()
    rest = file[log.feed(file[:cut]) :]
    first = restored(saved(log, directory / "a"))
    assert contents(first) == contents(log)
    # Again, without querying it in between, so that columns are copied from index to index.
    second = restored(saved(log, directory / "a"))
    second.feed(rest)
    third = restored(saved(second, directory / "b"))
    os.unlink(directory / "a")
    assert contents(third) == contents(fed(file))
    assert first.started_from == log.started_from


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_a_damaged_index_is_rejected_as_a_whole_or_by_column(tmp_path_factory, data):
    directory = tmp_path_factory.mktemp("index")
    path = directory / "events"
    path.write_bytes(
        event_file(
            version(),
            *scalars("loss", *((i, i * 0.5) for i in range(20))),
            session_start(5),
            *scalars("b", (5, 1.0)),
            Event(wall_time=3.0, graph_def=b"graph"),
            summary(scalar("loss", 2.0), scalar("c", 3.0), step=30),
        )
    )
    log = EventLog()
    log.load(os.fsencode(path))
    index = saved(log, directory / "index")
    raw = bytearray((directory / "index").read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    size = data.draw(st.one_of(st.just(len(raw)), st.integers(0, len(raw))))
    (directory / "index").write_bytes(raw[:size])
    again = EventLog()
    if not again.restore(index, os.fsencode(path)):
        again.load(os.fsencode(path))
    for _ in range(8):  # each lost column makes the log read the file again and raise
        try:
            assert contents(again) == contents(log)
            return
        except IndexError:
            continue
    raise AssertionError("IndexError was raised too often")


def test_points_after_those_in_the_index_are_returned_without_reading_it(tmp_path):
    log = fed(event_file(version(), *scalars("loss", *((i, 1.0) for i in range(10)))))
    again = restored(saved(log, tmp_path / "index"))
    again.feed(event_file(*scalars("loss", (10, 2.0), (11, 3.0))))
    os.unlink(tmp_path / "index")
    assert np.frombuffer(again.point_columns(0, 10)[0], np.int64).tolist() == [10, 11]
    assert np.frombuffer(again.point_columns(0, 11)[2]).tolist() == [3]
    assert [len(column) for column in again.point_columns(0, 12)[:3]] == [0, 0, 0]


def test_a_log_that_is_not_empty_cannot_be_restored(tmp_path):
    log = fed(event_file(version(), *scalars("loss", (1, 1.0))))
    index = saved(log, tmp_path / "index")
    before = contents(log)
    assert not log.restore(index, b"")
    assert contents(log) == before


def test_a_missing_or_invalid_index_is_rejected(tmp_path):
    (tmp_path / "text").write_text("not an index " * 100)
    for name in ("nothing", "text", "."):
        assert not EventLog().restore(os.fsencode(tmp_path / name), b"")


def test_writing_to_a_closed_file_returns_the_error():
    assert EventLog().save(-1) != 0
