"""Columns shared with arrays: they never change and outlive the log, whatever is added to it."""

import os

import numpy as np
import pytest
from builders import event_file, scalar, scalars, session_start, summary, tensor, version
from event_bytes import fed
from tensorboard.compat.proto.tensor_pb2 import TensorProto

from pulseboard.kernel.reader import EventLog


def arrays(log: EventLog, tag: str = "loss") -> list[list[float]]:
    """Steps, wall times and values of a tag, from `series`."""
    columns = log.series(tag)
    assert columns is not None
    types = (np.int64, np.float64, np.float64)
    return [np.frombuffer(one, dtype).tolist() for one, dtype in zip(columns, types, strict=True)]


# Around the sizes at which a column is moved: 4, 16, 64, 128, ..., 4096 and from there on in three pieces.
@pytest.mark.parametrize("counts", [(1, 1, 3, 20), (4, 12, 48, 64), (4000, 96, 1, 4000), (4097, 1), (1, 9000, 1)])
@pytest.mark.parametrize("trim", [True, False])
def test_arrays_stay_as_they_were_when_points_are_added(counts, trim):
    log = fed(event_file(version()))
    taken, total = [], 0
    for count in counts:
        log.feed(event_file(*scalars("loss", *((total + i, float(total + i)) for i in range(count)))))
        total += count
        if trim:
            log.trim()
        taken.append((total, log.series("loss")))
    del log
    for count, (steps, _, values) in taken:
        assert np.array_equal(np.frombuffer(steps, np.int64), np.arange(count))
        assert np.array_equal(np.frombuffer(values), np.arange(count, dtype=float))


def test_arrays_outlive_a_log_that_starts_over():
    log = fed(event_file(version(), *scalars("loss", (1, 2.0), (2, 3.0))))
    columns = log.series("loss")
    log.reset()
    assert np.frombuffer(columns[2]).tolist() == [2.0, 3.0]


def test_arrays_are_read_only():
    log = fed(event_file(version(), *scalars("loss", (1, 2.0))))
    with pytest.raises((ValueError, BufferError)):
        np.frombuffer(log.series("loss")[2])[0] = 5.0
    with pytest.raises(TypeError):
        memoryview(log.series("loss")[2])[0] = 0


def test_from_the_first_point_columns_are_shared_and_later_ones_are_copied():
    log = fed(event_file(version(), *scalars("loss", (1, 2.0), (2, 3.0))))
    address = np.frombuffer(log.point_columns(0)[2]).__array_interface__["data"][0]
    assert np.frombuffer(log.series("loss")[2]).__array_interface__["data"][0] == address
    assert isinstance(log.point_columns(0, 1)[2], bytearray)


def packed(log: EventLog, tag: str) -> list[list[float]] | None:
    """The same as `arrays`, from `packed_series`."""
    place = log.packed_series(tag)
    if place is None:
        return None
    numbers, start, points = place
    steps, rest = np.frombuffer(numbers, np.int64), np.frombuffer(numbers)
    walls, values = start + points, start + 2 * points
    return [steps[start:walls].tolist(), rest[walls:values].tolist(), rest[values : values + points].tolist()]


def test_short_columns_of_a_file_share_one_buffer():
    log = fed(event_file(version(), *scalars("loss", (1, 2.0), (2, 3.0)), *scalars("acc", (1, 0.5))))
    assert log.packed_series("loss") is None, "not read to the end yet"
    log.trim()
    assert packed(log, "loss") == arrays(log)
    assert packed(log, "acc") == arrays(log, "acc")
    assert log.packed_series("loss")[0] is log.packed_series("acc")[0]


def test_a_shared_buffer_stays_as_it_was_when_points_are_added():
    log = fed(event_file(version(), *scalars("loss", (1, 2.0)), *scalars("acc", (1, 0.5))))
    log.trim()
    before, start, points = log.packed_series("loss")
    log.feed(event_file(*scalars("loss", (2, 3.0))))
    assert log.packed_series("loss") is None
    assert packed(log, "acc") == arrays(log, "acc")
    log.trim()
    assert packed(log, "loss") == arrays(log) == [[1, 2], arrays(log)[1], [2.0, 3.0]]
    assert packed(log, "acc") == arrays(log, "acc")
    del log
    assert np.frombuffer(before)[start + 2 * points] == 2.0


def test_a_series_that_is_long_or_not_whole_shares_no_buffer():
    long = [*scalars("loss", *((i, i / 2) for i in range(5000))), *scalars("acc", (1, 0.5))]
    for log in (fed(event_file(version(), *long)), fed(event_file(*long))):
        log.trim()
        assert log.packed_series("loss") is None
        assert log.packed_series("other") is None
        assert packed(log, "acc") == (None if log.series("acc") is None else arrays(log, "acc"))


def test_a_series_that_needs_more_than_one_column_is_left_to_the_caller():
    plain = scalars("loss", (1, 2.0))
    assert fed(event_file(version(), *plain)).series("other") is None
    assert fed(event_file(*plain)).series("loss") is None, "no version: a falling step would be a restart"
    assert fed(event_file(version(), *plain, session_start(1))).series("loss") is None
    mixed = event_file(version(), *plain, summary(tensor("loss", TensorProto(dtype=7), plugin="text")))
    assert fed(mixed).series("loss") is None, "values of another kind under the same tag"


def test_the_tags_with_points_are_listed_unless_another_file_may_say_more():
    log = fed(event_file(version(), summary(scalar("b", 1.0), scalar("a", 1.0))))
    assert log.scalar_tags() == ["b", "a"]
    assert fed(b"").scalar_tags() == []


def test_a_log_knows_whether_it_has_only_points():
    points = scalars("loss", (1, 2.0))
    text = summary(tensor("note", TensorProto(dtype=7), plugin="text"))
    assert fed(event_file(version(), *points)).scalar_tags(only=True) == ["loss"]
    assert fed(event_file(version(), *points, text)).scalar_tags() == ["loss"]
    assert fed(event_file(version(), *points, text)).scalar_tags(only=True) is None


def test_an_index_gives_the_same_series(tmp_path):
    log = fed(event_file(version(), *scalars("loss", *((i, i / 2) for i in range(5000)))))
    before = arrays(log)
    with open(tmp_path / "index", "wb") as stream:
        assert log.save(stream.fileno()) == 0
    again = EventLog()
    assert again.restore(os.fsencode(tmp_path / "index"), b"")
    again.feed(event_file(*scalars("loss", (5000, 0.5))))
    steps, _, values = arrays(again)
    assert (steps, values) == (before[0] + [5000], before[2] + [0.5])
