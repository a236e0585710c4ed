"""The index of one event file: a log restored from it has the same contents, and can read on from there."""

import os
import random
import struct

import numpy as np
import pytest
from builders import event_file, scalar, scalars, session_start, summary, tensor, version
from event_bytes import contents, fed, files
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel.hostile_index import with_head
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.tensor_pb2 import TensorProto

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


def index_of_two_plugins(directory):
    """An event file, and its index, in which the plugins `scalars` and `text` are named."""
    path = directory / "events"
    number = TensorProto(dtype=1, float_val=[1.0])
    events = [
        version(),
        summary(tensor("loss", number)),
        summary(tensor("notes", TensorProto(dtype=7, string_val=[b"x"]), plugin="text")),
    ]
    path.write_bytes(event_file(*events))
    log = EventLog()
    log.load(os.fsencode(path))
    index = saved(log, directory / "index")
    return path, index, (directory / "index").read_bytes()


@pytest.mark.parametrize("name", [b"scalars", b"sc\0lars", b"\0calars", b"scalar\0"])
def test_a_plugin_name_that_is_not_new_or_has_a_zero_makes_an_index_damaged(tmp_path, name):
    """`strncmp` stopped at the zero, and the byte after the name was read out of bounds."""
    path, index, raw = index_of_two_plugins(tmp_path)
    old = struct.pack("<Q", 4) + b"text"
    assert raw.count(old) == 1
    hostile = with_head(raw, lambda head: head.replace(old, struct.pack("<Q", len(name)) + name))
    (tmp_path / "index").write_bytes(hostile)
    assert not EventLog().restore(index, os.fsencode(path))


def test_an_index_with_any_head_is_restored_or_refused(tmp_path):
    """Random changes of the head, each with a checksum that fits: nothing but bounds checks is in their way."""
    path, index, raw = index_of_two_plugins(tmp_path)
    rng = random.Random(20261118)
    for _ in range(3000):

        def scramble(head):
            changed = bytearray(head)
            for _ in range(rng.randrange(1, 4)):
                where = rng.randrange(len(changed))
                changed[where] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            return changed[: rng.choice((len(changed), rng.randrange(len(changed))))]

        (tmp_path / "index").write_bytes(with_head(raw, scramble))
        log = EventLog()
        log.restore(index, os.fsencode(path))
        for _ in range(8):
            try:
                contents(log)
                break
            except IndexError:
                (tmp_path / "index").unlink(missing_ok=True)
        log.feed(event_file(*scalars("loss", (9, 1.0))))
        log.load(os.fsencode(path))
