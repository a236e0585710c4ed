"""The index of one event file: a log that comes back from it tells what it told, and goes on from there."""

import os

import numpy as np
from builders import event_file, scalar, scalars, session_start, summary, version
from event_bytes import fed, files, told
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorboard.compat.proto.event_pb2 import Event

from pulseboard.native.kernel import EventLog


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
def test_a_log_comes_back_as_it_was_and_goes_on(tmp_path_factory, file, data):
    directory = tmp_path_factory.mktemp("index")
    cut = data.draw(st.integers(0, len(file)))
    log = EventLog()
    rest = file[log.feed(file[:cut]) :]
    first = restored(saved(log, directory / "a"))
    assert told(first) == told(log)
    # Again, and this time nothing was asked for in between, so that columns go over unseen.
    second = restored(saved(log, directory / "a"))
    second.feed(rest)
    third = restored(saved(second, directory / "b"))
    os.unlink(directory / "a")
    assert told(third) == told(fed(file))
    assert first.started_from == log.started_from


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_an_index_with_wrong_bytes_is_refused_or_its_columns_are(tmp_path_factory, data):
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
    for _ in range(8):  # each column that is lost has the file read anew, and tells to ask again
        try:
            assert told(again) == told(log)
            return
        except IndexError:
            continue
    raise AssertionError("it was told to ask again too often")


def test_points_after_those_in_the_index_are_told_without_reading_it(tmp_path):
    log = fed(event_file(version(), *scalars("loss", *((i, 1.0) for i in range(10)))))
    again = restored(saved(log, tmp_path / "index"))
    again.feed(event_file(*scalars("loss", (10, 2.0), (11, 3.0))))
    os.unlink(tmp_path / "index")
    assert np.frombuffer(again.point_columns(0, 10)[0], np.int64).tolist() == [10, 11]
    assert np.frombuffer(again.point_columns(0, 11)[2]).tolist() == [3]
    assert [len(column) for column in again.point_columns(0, 12)[:3]] == [0, 0, 0]


def test_a_log_that_has_read_something_takes_no_index_over(tmp_path):
    log = fed(event_file(version(), *scalars("loss", (1, 1.0))))
    index = saved(log, tmp_path / "index")
    before = told(log)
    assert not log.restore(index, b"")
    assert told(log) == before


def test_an_index_that_is_not_there_or_not_one_is_refused(tmp_path):
    (tmp_path / "text").write_text("not an index " * 100)
    for name in ("nothing", "text", "."):
        assert not EventLog().restore(os.fsencode(tmp_path / name), b"")


def test_writing_to_a_closed_file_tells_the_error():
    assert EventLog().save(-1) != 0
