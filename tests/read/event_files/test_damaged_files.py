"""Damaged event files: each gets a note that says what is wrong and where, and everything else is still read."""

import gzip
import json
import random
import re
import tempfile
from pathlib import Path

import pytest
from builders import event_file, head, record, scalars, version
from hypothesis import given
from hypothesis import strategies as st
from log_directories import all_of, values, write_run

import pulseboard as pb

WHOLE = event_file(version(), *scalars("loss", (0, 1.0), (1, 2.0), (2, 3.0)))
ENDS = [len(event_file(version(), *scalars("loss", *((i, i) for i in range(n))))) for n in range(4)]


def points(run):
    return values(run) if "loss" in run.tags() else []


# ---- truncated files


def test_a_complete_file_has_no_note(read_bad_file):
    run, note = read_bad_file(WHOLE)
    assert (points(run), note) == ([1.0, 2.0, 3.0], None)


def test_an_empty_file_is_a_run_without_data(read_bad_file):
    run, note = read_bad_file(b"")
    assert (points(run), note) == ([], None)


@pytest.mark.parametrize("cut", [1, 8, 11, 12, 20, ENDS[3] - ENDS[2] - 1])
def test_a_file_truncated_inside_a_record_has_all_records_before_it(read_bad_file, cut):
    run, note = read_bad_file(WHOLE[: ENDS[2] + cut])
    assert points(run) == [1.0, 2.0]
    assert (note.level, note.byte) == ("info", ENDS[2])
    assert note.what == "The last record is incomplete: the file was truncated, or is still being written."


def test_a_file_truncated_between_records_has_no_note(read_bad_file):
    run, note = read_bad_file(WHOLE[: ENDS[2]])
    assert (points(run), note) == ([1.0, 2.0], None)


# ---- corrupted files


def _with(position, change):
    data = bytearray(WHOLE)
    data[position] ^= change
    return bytes(data)


def test_a_damaged_payload_costs_one_record(read_bad_file):
    run, note = read_bad_file(_with(ENDS[1] + 20, 0xFF))
    assert points(run) == [1.0, 3.0]
    assert (note.level, note.byte) == ("damage", ENDS[1])
    assert re.fullmatch(
        r"Skipped 1 record: its payload checksum is 0x[0-9a-f]{8}, expected 0x[0-9a-f]{8}\. Later records were read\.",
        note.what,
    )
    assert str(note).endswith(f"Byte {ENDS[1]} of {note.path}")


def test_a_damaged_payload_checksum_costs_one_record(read_bad_file):
    run, note = read_bad_file(_with(ENDS[2] - 1, 0x01))
    assert points(run) == [1.0, 3.0]
    assert (note.level, note.byte) == ("damage", ENDS[1])


@pytest.mark.parametrize("at", [0, 7, 8, 11])
def test_a_damaged_length_ends_the_file_there(read_bad_file, at):
    run, note = read_bad_file(_with(ENDS[1] + at, 0x10))
    assert points(run) == [1.0]
    assert (note.level, note.byte) == ("damage", ENDS[1])
    assert "length fails its checksum" in note.what
    assert "Read 2 records before it" in note.what


def test_a_record_that_is_not_an_event_costs_one_record(read_bad_file):
    junk = b"\x2a\xff\xff\xff\xff\x0f not a message"
    run, note = read_bad_file(WHOLE[: ENDS[1]] + record(junk) + WHOLE[ENDS[1] :])
    assert points(run) == [1.0, 2.0, 3.0]
    assert (note.level, note.byte) == ("damage", ENDS[1])
    assert note.what == f"Skipped 1 record: its {len(junk)} bytes are not an Event message. Later records were read."


def test_many_damaged_records_are_counted_and_only_the_first_get_a_note_each(tmp_path):
    parts = [event_file(event) for event in (version(), *scalars("loss", *((i, float(i)) for i in range(200))))]
    broken = [part[:-1] + bytes([part[-1] ^ 1]) for part in parts[1:]]
    (tmp_path / "events.out.tfevents.1").write_bytes(parts[0] + b"".join(broken))
    log = pb.read(tmp_path)
    *each, rest = log.notes()
    assert len(each) == 64
    assert rest.what == f"Skipped {200 - 64} more damaged records."


# ---- absurd lengths


@pytest.mark.parametrize("length", [2**31, 2**40, 2**63, 2**64 - 1])
def test_a_gigantic_length_ends_the_file_and_allocates_no_memory(read_bad_file, length):
    run, note = read_bad_file(WHOLE[: ENDS[2]] + head(length) + WHOLE[ENDS[2] :])
    assert points(run) == [1.0, 2.0]
    assert (note.level, note.byte) == ("damage", ENDS[2])
    assert "claims to be larger than 2 GiB" in note.what


def test_a_length_past_the_end_is_a_torn_tail_and_allocates_no_memory(read_bad_file):
    run, note = read_bad_file(WHOLE[: ENDS[2]] + head(2**31 - 1) + b"abc")
    assert points(run) == [1.0, 2.0]
    assert (note.level, note.byte) == ("info", ENDS[2])


def test_a_record_of_no_bytes_is_an_empty_event(read_bad_file):
    run, note = read_bad_file(WHOLE[: ENDS[2]] + record(b"") + WHOLE[ENDS[2] :])
    assert (points(run), note) == ([1.0, 2.0, 3.0], None)


# ---- files that are not event files


@pytest.mark.parametrize(
    "data",
    [
        b"x",
        b"step,loss\n1,2.0\n" * 10,
        b"\x89PNG\r\n\x1a\n" + bytes(100),
        bytes(1000),
        b"\xff" * 1000,
        json.dumps({"loss": [1, 2, 3]}).encode(),
        random.Random(0).randbytes(5000),
    ],
    ids=["one byte", "csv", "png", "zeros", "ones", "json", "noise"],
)
def test_a_file_that_is_not_an_event_file_is_noted_and_skipped(read_bad_file, data):
    run, note = read_bad_file(data)
    assert points(run) == []
    if len(data) >= 12:
        assert note.level == "unreadable"
        assert note.what == "This is not an event file: its first record's length fails its checksum."


def test_a_git_lfs_pointer_gets_a_note_on_how_to_fetch_the_file(read_bad_file):
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21\nsize 12345\n"
    run, note = read_bad_file(pointer)
    assert run.tags() == []
    assert note.level == "unreadable"
    assert note.what == "This is a Git LFS pointer, not the event file itself. Fetch it with: git lfs pull."


def test_gzip_under_an_event_files_name_gets_a_note_on_how_to_name_it(read_bad_file):
    run, note = read_bad_file(gzip.compress(WHOLE))
    assert run.tags() == []
    assert note.level == "unreadable"
    assert "add .gz to its name" in note.what


def test_gzip_under_its_own_name_is_read(read_bad_file):
    run, note = read_bad_file(gzip.compress(WHOLE), name="events.out.tfevents.1.gz")
    assert (points(run), note) == ([1.0, 2.0, 3.0], None)


# ---- any bytes


@given(st.binary(max_size=60) | st.integers(0, len(WHOLE)).map(lambda n: WHOLE[:n]), st.binary(max_size=40))
def test_any_bytes_are_read_or_noted(start, more):
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        write_run(root / "good", (0, 42.0))
        (root / "bad").mkdir()
        (root / "bad" / "events.out.tfevents.1").write_bytes(start + more)
        log = pb.read(root)
        assert values(log["good"]) == [42.0]
        whole = max((end for end in [0, *ENDS] if end <= len(start) and WHOLE[:end] == start[:end]), default=0)
        read_to = log["bad"].files[0].log.offset
        assert read_to >= whole
        assert read_to == len(start + more) or log.notes()
        all_of(log)
