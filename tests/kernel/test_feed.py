"""Feeding bytes: any bytes are safe, and splitting them changes nothing."""

import struct

import numpy as np
import pytest
from builders import event_file, head, record, scalar, scalars, session_start, summary, tensor, version
from event_bytes import contents, events, fed, files
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto

from pulseboard.kernel import reader, writer
from pulseboard.kernel.reader import EventLog
from pulseboard.kernel.tag_table import pack_tags, unpack_tags


def points(log: EventLog, tag: int = 0) -> list[tuple[int, float]]:
    """(step, value) of the tag with this index."""
    steps, _, values, _ = log.point_columns(tag)
    return list(zip(np.frombuffer(steps, np.int64).tolist(), np.frombuffer(values).tolist(), strict=True))


def packed(log: EventLog, tag: int) -> list[bytes]:
    """Step, wall time and value of each point, as bytes: NaN equals NaN, and 0.0 differs from -0.0."""
    steps, walls, values = map(bytes, log.point_columns(tag)[:3])
    return [steps[i : i + 8] + walls[i : i + 8] + values[i : i + 8] for i in range(0, len(steps), 8)]


def bytes_by_tag(log: EventLog) -> dict[str, int]:
    """The bytes of the file that belong to each tag."""
    return {name: size for name, _, _, _, _, size, *_ in log.tags()}


# ---------- any bytes


@given(st.one_of(st.binary(max_size=400), files))
def test_arbitrary_bytes_never_raise_and_are_never_overread(data):
    log = EventLog()
    assert 0 <= log.feed(data) == log.offset <= len(data)
    assert log.end in {reader.END_CLEAN, reader.END_TORN, reader.END_BAD_LENGTH, reader.END_HUGE}
    contents(log)


@given(st.data(), files)
def test_a_file_fed_in_pieces_reads_the_same_as_whole(data, file):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(file)), max_size=6)))
    pieces = [file[a:b] for a, b in zip([0, *cuts], [*cuts, len(file)], strict=True)]
    assert contents(fed(*pieces)) == contents(fed(file))


@given(files)
def test_one_tag_reads_the_same_as_in_the_list_and_in_a_packed_table(file):
    log = fed(file)
    assert [log.tag(row[0]) for row in log.tags()] == log.tags()
    assert [row[-1] for row in log.tags()] == list(range(log.tag_count))
    assert log.tag("nobody's") is None
    assert log.tag("\ud800") is None, "half a character"
    assert log.tag_count == len(log.tags())
    table = [(name, plugin, fields, points > 0) for name, plugin, points, _, fields, *_ in log.tags()]
    assert unpack_tags(pack_tags(log)) == table
    assert pack_tags(fed(file + event_file(version()))) == pack_tags(log) or log.end > reader.END_CLEAN


def test_a_tag_that_is_not_utf8_is_found_by_its_escaped_name():
    [event] = scalars("ab", (1, 1.0))
    log = fed(event_file(version()) + record(event.SerializeToString().replace(b"ab", b"a\xff")))
    assert [row[0] for row in log.tags()] == ["a\\xff"]
    assert log.tag("a\\xff")[-1] == 0


@given(files)
def test_every_byte_read_counts_for_a_tag_or_for_framing(file):
    log = fed(file)
    assert sum(bytes_by_tag(log).values()) + log.framing_bytes == log.offset


@given(files)
def test_trimming_and_feeding_again_after_a_reset_change_nothing(file):
    log = fed(file)
    before = contents(log)
    log.trim()
    assert contents(log) == before
    log.reset()
    assert (log.offset, log.points, log.tags(), log.generation) == (0, 0, [], 1)
    log.feed(file)
    assert contents(log) == before


@given(st.lists(events))
def test_valid_events_read_the_same_as_with_tensorboards_classes(written):
    log = fed(event_file(*written))
    expected: dict[str, list[bytes]] = {}
    for event in written:
        for value in event.summary.value:
            kept = expected.setdefault(value.tag, [])
            if value.HasField("simple_value"):
                kept.append(struct.pack("<qdd", event.step, event.wall_time, value.simple_value))
    found = {name: packed(log, i) for i, (name, *_) in enumerate(log.tags()) if not name.startswith("__")}
    assert found == expected
    assert log.events == len(written)


# ---------- frames


@given(st.lists(st.binary(max_size=2000), max_size=5))
def test_framed_payloads_are_accepted(payloads):
    log = fed(b"".join(writer.frame(payload) for payload in payloads))
    assert log.end == reader.END_CLEAN
    assert log.offset == sum(len(payload) + 16 for payload in payloads)
    assert reader.NOTE_PAYLOAD not in [code for code, *_ in log.notes()[1]]


THREE = [version(), *scalars("loss", (1, 0.5), (2, 0.25), (3, 0.125))]


@given(st.data())
def test_a_bad_payload_checksum_skips_exactly_that_record(data):
    records = [event_file(event) for event in THREE]
    bad = data.draw(st.integers(1, 3))
    at = data.draw(st.integers(12, len(records[bad]) - 1))
    broken = bytearray(records[bad])
    broken[at] ^= data.draw(st.integers(1, 255))
    log = fed(b"".join([*records[:bad], bytes(broken), *records[bad + 1 :]]))
    assert [step for step, _ in points(log)] == [step for step in (1, 2, 3) if step != bad]
    count, [(code, offset, length, got, want)] = log.notes()
    assert (count, code, offset) == (1, reader.NOTE_PAYLOAD, sum(map(len, records[:bad])))
    assert length == len(broken) - 16
    assert want == struct.unpack("<I", broken[-4:])[0] != got == writer.checksum(broken[12:-4])
    assert log.end == reader.END_CLEAN


@given(st.data())
def test_a_bad_length_checksum_ends_the_file_there(data):
    records = [event_file(event) for event in THREE]
    bad = data.draw(st.integers(0, 3))
    broken = bytearray(records[bad])
    broken[data.draw(st.integers(0, 11))] ^= data.draw(st.integers(1, 255))
    log = fed(b"".join([*records[:bad], bytes(broken), *records[bad + 1 :]]))
    assert log.end == reader.END_BAD_LENGTH
    assert log.offset == sum(map(len, records[:bad]))
    assert log.events == bad
    assert log.notes() == (0, [])


@pytest.mark.parametrize("length", [2**31, 2**32 + 5, 2**63, 2**64 - 16, 2**64 - 1])
def test_an_impossible_length_with_a_good_checksum_takes_no_memory(length):
    start = event_file(version())
    log = fed(start + head(length) + bytes(100))
    assert (log.end, log.offset, log.held_bytes) == (reader.END_HUGE, len(start), 0)


def test_the_longest_allowed_length_is_only_a_torn_tail():
    log = fed(head(2**31 - 1) + bytes(100))
    assert (log.end, log.offset, log.held_bytes) == (reader.END_TORN, 0, 0)


def test_a_record_torn_at_any_byte_is_read_when_the_rest_comes():
    records = [event_file(event) for event in [*THREE, summary(tensor("t", TensorProto(dtype=1, float_val=[1])))]]
    file, ends = b"".join(records), np.cumsum([0, *map(len, records)]).tolist()
    whole = contents(fed(file))
    for cut in range(len(file) + 1):
        log = EventLog()
        assert log.feed(file[:cut]) == max(end for end in ends if end <= cut)
        assert log.end == (reader.END_CLEAN if cut in ends else reader.END_TORN)
        log.feed(file[log.offset :])
        assert contents(log) == whole


# ---------- events


def test_a_record_that_is_not_an_event_is_noted_and_the_next_is_read():
    start = event_file(version())
    log = fed(start + record(b"\xff\xff\xff") + event_file(*scalars("loss", (1, 0.5))))
    assert points(log) == [(1, 0.5)]
    assert log.notes() == (1, [(reader.NOTE_EVENT, len(start), 3, 0, 0)])
    assert log.events == 2


def test_a_first_record_that_is_not_an_event_does_not_set_the_first_wall_time():
    log = fed(record(b"\xff") + event_file(*scalars("loss", (1, 0.5), (2, 0.5))))
    assert (log.first_wall, log.last_wall) == (101.0, 102.0)


def test_the_first_and_last_wall_times_are_those_of_the_first_and_last_events():
    log = fed(event_file(version(), *scalars("loss", (1, 0.5), (2, 0.5)), session_start(2, wall_time=7.0)))
    assert (log.first_wall, log.last_wall) == (1.0, 7.0)


def test_a_varint_of_eleven_bytes_is_not_an_event():
    assert fed(record(b"\x10" + b"\x80" * 9 + b"\x01")).notes()[0] == 0
    assert fed(record(b"\x10" + b"\x80" * 10 + b"\x01")).notes()[0] == 1


def test_an_unknown_group_is_skipped_at_any_depth():
    for depth in (1, 100, 100_000):
        group = b"\xa3\x01" * depth + b"\xa4\x01" * depth
        log = fed(record(group + scalars("loss", (1, 0.5))[0].SerializeToString()))
        assert points(log) == [(1, 0.5)]
        assert fed(record(group[:-2])).notes()[0] == 1


def test_notes_past_the_sixty_fourth_are_only_counted():
    count, kept = fed(record(b"\xff") * 100).notes()
    assert (count, len(kept)) == (100, 64)


def test_a_span_points_to_the_bytes_of_its_value():
    value = Summary.Value(tag="weights", histo=HistogramProto(min=1, bucket=[1, 2]))
    file = event_file(version(), summary(scalar("loss", 1), value, step=7))
    log = fed(file)
    step, _, offset, length, field, _ = log.span_columns(1)
    begin, n = np.frombuffer(offset, np.uint64)[0], np.frombuffer(length, np.uint32)[0]
    assert Summary.Value.FromString(file[int(begin) : int(begin + n)]) == value
    assert (np.frombuffer(step, np.int64)[0], np.frombuffer(field, np.uint32)[0]) == (7, 5)


def test_a_tag_points_to_the_metadata_of_its_first_value():
    value = tensor("t", TensorProto(dtype=1, float_val=[1]), plugin="text")
    file = event_file(version(), summary(value))
    [(_, plugin, _, _, _, _, offset, length, _)] = fed(file).tags()
    assert plugin == "text"
    assert Summary.Value(metadata=value.metadata).metadata.FromString(file[offset : offset + length]) == value.metadata


# ---------- bytes and plugins


def test_a_records_bytes_count_for_its_tags_and_its_framing_for_the_first():
    start, second = event_file(version()), scalar("bb", 1)
    both = event_file(summary(scalar("a", 1), second))
    log = fed(start + both)
    assert bytes_by_tag(log) == {"a": len(both) - second.ByteSize(), "bb": second.ByteSize()}
    assert log.framing_bytes == len(start)


def test_an_empty_value_does_not_count_for_an_earlier_tag():
    loss, nothing = event_file(*scalars("loss", (1, 0.5))), event_file(summary(Summary.Value(tag="x")))
    log = fed(event_file(version()) + loss + nothing)
    assert bytes_by_tag(log) == {"loss": len(loss)}


def test_early_plugins_keep_their_names_when_there_are_very_many():
    proto = TensorProto(dtype=1, float_val=[1])
    many = [tensor(f"t{i}", proto, plugin=f"p{i}") for i in range(1100)]
    values = [tensor("early", proto), *many, tensor("late", proto)]
    names = {name: plugin for name, plugin, *_ in fed(event_file(version(), summary(*values))).tags()}
    assert (names["early"], names["late"], names["t5"]) == ("scalars", "scalars", "p5")
    assert names["t1099"] == "(one of very many)"


# ---------- restarts


def cuts(log: EventLog, tag: int = 0) -> list[tuple[int, int, int]]:
    """(points before the cut, step they must be below, first restart or -1)."""
    return log.point_columns(tag)[3][1]


def test_a_session_start_cuts_a_column_at_its_next_point():
    before, after = scalars("loss", (1, 0.5), (5, 0.5)), scalars("loss", (3, 0.5), (4, 0.5))
    log = fed(event_file(version(), *before, session_start(3), *after))
    assert cuts(log) == [(2, 0, 0)]
    assert [step for step, _, _ in log.restarts()] == [3]
    assert log.point_columns(0)[3][0] == 1


def test_with_a_version_record_a_falling_step_alone_cuts_nothing():
    log = fed(event_file(version(), *scalars("loss", (1, 0.5), (5, 0.5), (3, 0.5))))
    assert cuts(log) == []
    assert not log.unversioned


def test_without_a_version_record_a_falling_step_cuts_its_own_tags_only():
    log = fed(event_file(*scalars("a", (1, 0.5), (5, 0.5)), *scalars("b", (6, 0.5)), *scalars("a", (3, 0.5))))
    assert (cuts(log, 0), cuts(log, 1)) == ([(2, 3, -1)], [])
    assert log.unversioned


def test_a_tag_that_occurs_twice_in_a_summary_is_cut_only_once():
    twice = summary(scalar("a", 1.0), scalar("a", 2.0), scalar("new", 1.0), scalar("new", 2.0), step=3)
    log = fed(event_file(*scalars("a", (1, 0.5), (5, 0.5)), twice))
    assert (cuts(log, 0), cuts(log, 1)) == ([(2, 3, -1)], [(0, 3, -1)])


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 9), st.just(0.5)), max_size=20))
def test_without_a_version_record_every_step_below_the_most_recent_cuts(written):
    log = fed(event_file(*scalars("a", *written)))
    recent, expected = -1, []
    for i, (step, _) in enumerate(written):
        if step < recent:
            expected.append((i, step, -1))
        else:
            recent = step
    assert (cuts(log) if written else []) == expected
