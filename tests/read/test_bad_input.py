"""Bad input: every damaged file gives a note that says where and what, and all else is still read."""

import gzip
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from builders import event_file, head, record, scalar, scalars, summary, tensor, version
from hypothesis import given, settings
from hypothesis import strategies as st
from log_directories import all_of, values, write_run
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto

import pulseboard as pb

WHOLE = event_file(version(), *scalars("loss", (0, 1.0), (1, 2.0), (2, 3.0)))
ENDS = [len(event_file(version(), *scalars("loss", *((i, i) for i in range(n))))) for n in range(4)]


@pytest.fixture
def beside(tmp_path):
    """Puts bytes in a run of their own beside a good run; gives back the bad run and its one note, if any."""
    write_run(tmp_path / "good", (0, 42.0))

    def put(data, *, name="events.out.tfevents.1"):
        (tmp_path / "bad").mkdir()
        (tmp_path / "bad" / name).write_bytes(data)
        log = pb.read(tmp_path)
        assert set(log) == {"good", "bad"}
        assert values(log["good"]) == [42.0]
        assert log["good"].notes() == []
        notes = log.notes()
        assert notes == log["bad"].notes()
        assert len(notes) <= 1
        if notes:
            assert notes[0].path == str(tmp_path / "bad" / name)
            assert notes[0].path in str(notes[0])
        return log["bad"], notes[0] if notes else None

    return put


def points(run):
    return values(run) if "loss" in run.tags() else []


# ---- cut files


def test_a_whole_file_gives_no_note(beside):
    run, note = beside(WHOLE)
    assert (points(run), note) == ([1.0, 2.0, 3.0], None)


def test_an_empty_file_is_a_run_without_data(beside):
    run, note = beside(b"")
    assert (points(run), note) == ([], None)


@pytest.mark.parametrize("cut", [1, 8, 11, 12, 20, ENDS[3] - ENDS[2] - 1])
def test_a_file_cut_inside_a_record_gives_all_records_before_it(beside, cut):
    run, note = beside(WHOLE[: ENDS[2] + cut])
    assert points(run) == [1.0, 2.0]
    assert (note.level, note.byte) == ("info", ENDS[2])
    assert note.what == "The last record is not whole: the file was cut there, or is still being written."


def test_a_file_cut_between_records_is_whole(beside):
    run, note = beside(WHOLE[: ENDS[2]])
    assert (points(run), note) == ([1.0, 2.0], None)


# ---- corrupted files


def _with(position, change):
    data = bytearray(WHOLE)
    data[position] ^= change
    return bytes(data)


def test_a_damaged_payload_costs_one_record(beside):
    run, note = beside(_with(ENDS[1] + 20, 0xFF))
    assert points(run) == [1.0, 3.0]
    assert (note.level, note.byte) == ("damage", ENDS[1])
    assert re.fullmatch(
        r"Skipped 1 record: payload checksum is 0x[0-9a-f]{8}, the file says 0x[0-9a-f]{8}\. Later records were read\.",
        note.what,
    )
    assert str(note).endswith(f"Byte {ENDS[1]} of {note.path}")


def test_a_damaged_payload_checksum_costs_one_record(beside):
    run, note = beside(_with(ENDS[2] - 1, 0x01))
    assert points(run) == [1.0, 3.0]
    assert (note.level, note.byte) == ("damage", ENDS[1])


@pytest.mark.parametrize("at", [0, 7, 8, 11])
def test_a_damaged_length_ends_the_file_there(beside, at):
    run, note = beside(_with(ENDS[1] + at, 0x10))
    assert points(run) == [1.0]
    assert (note.level, note.byte) == ("damage", ENDS[1])
    assert "length fails its checksum" in note.what
    assert "2 records before it were read" in note.what


def test_a_record_that_is_no_event_costs_one_record(beside):
    junk = b"\x2a\xff\xff\xff\xff\x0f not a message"
    run, note = beside(WHOLE[: ENDS[1]] + record(junk) + WHOLE[ENDS[1] :])
    assert points(run) == [1.0, 2.0, 3.0]
    assert (note.level, note.byte) == ("damage", ENDS[1])
    assert note.what == f"Skipped 1 record: its {len(junk)} bytes are not an Event message. Later records were read."


def test_many_damaged_records_are_counted_and_the_first_are_told_one_by_one(tmp_path):
    parts = [event_file(event) for event in (version(), *scalars("loss", *((i, float(i)) for i in range(200))))]
    broken = [part[:-1] + bytes([part[-1] ^ 1]) for part in parts[1:]]
    (tmp_path / "events.out.tfevents.1").write_bytes(parts[0] + b"".join(broken))
    log = pb.read(tmp_path)
    *each, rest = log.notes()
    assert len(each) == 64
    assert rest.what == f"Skipped {200 - 64} further damaged records."


# ---- lengths no one means


@pytest.mark.parametrize("length", [2**31, 2**40, 2**63, 2**64 - 1])
def test_a_gigantic_length_ends_the_file_and_asks_for_no_memory(beside, length):
    run, note = beside(WHOLE[: ENDS[2]] + head(length) + WHOLE[ENDS[2] :])
    assert points(run) == [1.0, 2.0]
    assert (note.level, note.byte) == ("damage", ENDS[2])
    assert "claims more than 2 GiB" in note.what


def test_a_length_past_the_end_is_a_torn_tail_and_asks_for_no_memory(beside):
    run, note = beside(WHOLE[: ENDS[2]] + head(2**31 - 1) + b"abc")
    assert points(run) == [1.0, 2.0]
    assert (note.level, note.byte) == ("info", ENDS[2])


def test_a_record_of_no_bytes_is_an_event_that_says_nothing(beside):
    run, note = beside(WHOLE[: ENDS[2]] + record(b"") + WHOLE[ENDS[2] :])
    assert (points(run), note) == ([1.0, 2.0, 3.0], None)


# ---- files of another kind


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
def test_a_file_of_another_kind_is_told_as_such_and_passed_over(beside, data):
    run, note = beside(data)
    assert points(run) == []
    if len(data) >= 12:
        assert note.level == "unreadable"
        assert note.what == "This is not an event file: its first record's length fails its checksum."


def test_a_git_lfs_pointer_says_how_to_fetch_the_file(beside):
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21\nsize 12345\n"
    run, note = beside(pointer)
    assert run.tags() == []
    assert note.level == "unreadable"
    assert note.what == "This is a Git LFS pointer, not the event file itself. Fetch it with: git lfs pull."


def test_gzip_under_an_event_files_name_says_how_to_name_it(beside):
    run, note = beside(gzip.compress(WHOLE))
    assert run.tags() == []
    assert note.level == "unreadable"
    assert "add .gz to it" in note.what


def test_gzip_under_its_own_name_is_read(beside):
    run, note = beside(gzip.compress(WHOLE), name="events.out.tfevents.1.gz")
    assert (points(run), note) == ([1.0, 2.0, 3.0], None)


# ---- archives


def _archive():
    events = [version(), *scalars("loss", *((i, random.Random(i).random()) for i in range(3000)))]
    return event_file(*events), gzip.compress(event_file(*events), mtime=0)


def test_an_archive_cut_short_gives_what_was_whole(beside):
    plain, packed = _archive()
    run, note = beside(packed[: len(packed) // 2], name="events.out.tfevents.1.gz")
    assert 1000 < len(points(run)) < 3000
    assert note.level == "damage"
    assert "The archive is damaged" in note.what
    assert f"{run.points + 1} records before that were read" in note.what
    assert plain[note.byte - 4 : note.byte] != b""


def test_values_of_an_archive_cut_short_can_still_be_decoded(tmp_path):
    writer_events = [version()]
    for i in range(300):
        value = tensor("words", TensorProto(dtype=7, string_val=[random.Random(i).randbytes(40).hex().encode()]))
        value.metadata.plugin_data.plugin_name = "text"
        writer_events.append(summary(value, step=i))
    packed = gzip.compress(event_file(*writer_events), mtime=0)
    (tmp_path / "events.out.tfevents.1.gz").write_bytes(packed[: len(packed) * 2 // 3])
    run = pb.read(tmp_path)["."]
    assert len(run.texts("words")) == run.infos()["words"].spans > 100


def test_an_archive_with_flipped_bits_gives_a_note_and_no_crash(tmp_path):
    _, packed = _archive()
    rng = random.Random(1)
    for i in range(40):
        data = bytearray(packed)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        (tmp_path / f"run{i}").mkdir()
        (tmp_path / f"run{i}" / "events.out.tfevents.1.gz").write_bytes(bytes(data))
    log = pb.read(tmp_path)
    assert len(log) == 40
    noted = {Path(note.path).parent.name for note in log.notes()}
    whole = {name for name, run in log.items() if run.points == 3000}
    assert len(noted | whole) == 40
    assert len(noted) > 30
    all_of(log)


@pytest.mark.parametrize(
    "data",
    # mtime: the name of a test must not change from one second to the next.
    [b"", b"\x1f", b"no gzip at all", gzip.compress(b"no event file, but long enough", mtime=0)],
)
def test_a_file_that_only_says_it_is_an_archive_gives_a_note(beside, data):
    run, note = beside(data, name="events.out.tfevents.1.gz")
    assert run.tags() == []
    assert (note is None) == (data == b"")


# ---- values that cannot be decoded


def test_a_value_that_cannot_be_decoded_is_left_out_and_noted(tmp_path):
    broken = Summary.Value(tag="picture", tensor=TensorProto(dtype=7, string_val=[b"wide", b"high", b"png"]))
    broken.metadata.plugin_data.plugin_name = "images"
    good = Summary.Value(tag="picture", tensor=TensorProto(dtype=7, string_val=[b"1", b"2", b"png"]))
    good.tensor.tensor_shape.dim.add().size = 3
    broken.tensor.tensor_shape.dim.add().size = 3
    write_run(tmp_path / "good", (0, 42.0))
    (tmp_path / "bad").mkdir()
    path = tmp_path / "bad" / "events.out.tfevents.1"
    path.write_bytes(event_file(version(), summary(broken, step=0), summary(good, step=1)))
    run = pb.read(tmp_path)["bad"]
    assert run.notes() == []
    assert [(image.step, image.width, image.frames) for image in run.images("picture")] == [(1, 1, (b"png",))]
    (note,) = run.notes()
    assert (note.level, note.path) == ("damage", str(path))
    assert "'picture'" in note.what
    assert note.byte is not None


def test_a_scalar_tag_of_arrays_and_words_is_left_out_and_the_numbers_stay(tmp_path):
    values_ = [TensorProto(dtype=1, float_val=[1.0]), TensorProto(dtype=7, string_val=[b"words"])]
    events = [summary(tensor("loss", proto), step=i) for i, proto in enumerate(values_)]
    (tmp_path / "events.out.tfevents.1").write_bytes(event_file(version(), *events))
    run = pb.read(tmp_path)["."]
    assert values(run) == [1.0]
    assert all(note.level == "damage" for note in run.notes())


def test_a_damaged_file_of_another_rank_is_noted_with_its_run(tmp_path):
    write_run(tmp_path / "exp" / "logs" / "tensorboard", (0, 1.0))
    (tmp_path / "exp" / "run.json").write_text("{}")
    bad = write_run(tmp_path / "exp" / "ranks" / "1")
    bad.write_bytes(b"this is no event file")
    log = pb.read(tmp_path)
    assert values(log["exp"]) == [1.0]
    assert [note.path for note in log.notes()] == [str(bad)]


# ---- what the system will not give


def test_a_pipe_and_a_directory_with_an_event_files_name_are_left_out(tmp_path):
    write_run(tmp_path / "run", (0, 1.0))
    os.mkfifo(tmp_path / "run" / "pipe.tfevents")
    (tmp_path / "run" / "dir.tfevents").mkdir()
    log = pb.read(tmp_path)
    assert values(log["run"]) == [1.0]
    (note,) = log.notes()
    assert (note.level, note.path) == ("unreadable", str(tmp_path / "run" / "pipe.tfevents"))
    assert "no regular file" in note.what


# The superuser may read everything, so the reading is done by somebody else. The interpreter is
# whole before the change: its own files may be closed to others.
READ_AS_NOBODY = """
import json, os, sys
import numpy, pulseboard as pb, pulseboard.read.log, pulseboard.read.run
if os.geteuid() == 0:
    os.setegid(65534)
    os.seteuid(65534)
log = pb.read(sys.argv[1])
print(json.dumps({
    "runs": {name: run.points for name, run in log.items()},
    "notes": [[note.level, note.what, note.path] for note in log.notes()],
}))
"""


def test_files_and_directories_closed_to_us_are_noted_and_the_rest_is_read(tmp_path_factory):
    root = Path(tempfile.mkdtemp())  # pytest's own directories are closed to others
    try:
        root.chmod(0o755)
        write_run(root / "good", (0, 1.0))
        closed_file = write_run(root / "closed_file", (0, 1.0))
        beside_it = write_run(root / "closed_file", (0, 1.0), name="events.out.tfevents.2")
        write_run(root / "closed_directory", (0, 1.0))
        closed_file.chmod(0)
        (root / "closed_directory").chmod(0)
        out = subprocess.run(
            [sys.executable, "-c", READ_AS_NOBODY, str(root)], check=True, capture_output=True, text=True, cwd="/"
        )
        found = json.loads(out.stdout)
        assert beside_it.exists()
        assert found["runs"] == {"good": 1, "closed_file": 1}
        assert sorted(found["notes"]) == [
            ["unreadable", "Cannot be read: Permission denied.", str(closed_file)],
            ["unreadable", "Left out a directory: Permission denied.", str(root / "closed_directory")],
        ]
    finally:
        (root / "closed_directory").chmod(0o755)
        for path in sorted(root.rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        root.rmdir()


# ---- numbers at the edges


def test_steps_and_times_at_the_edges_are_kept(tmp_path):
    edges = [(-(2**63), -1.0), (2**63 - 1, 0.0), (-1, float("inf")), (0, float("nan")), (5, -float("inf")), (7, 1e300)]
    events = [summary(scalar("loss", 1.0), step=step, wall_time=wall) for step, wall in edges]
    (tmp_path / "events.out.tfevents.1").write_bytes(event_file(version(), *events))
    run = pb.read(tmp_path)["."]
    series = run.series("loss")
    assert series.steps.tolist() == [step for step, _ in edges]
    assert [struct.pack("<d", w) for w in series.wall_times.tolist()] == [struct.pack("<d", w) for _, w in edges]
    (stats,) = run.stats()
    assert stats.max_step == 2**63 - 1


@pytest.mark.parametrize("tag", ["", " ", "a/b/c", "x" * 5000, "nul\0l", "漢字 ✓", "new\nline", '"quoted"', "../up"])
def test_any_tag_is_a_tag(tmp_path, tag):
    (tmp_path / "events.out.tfevents.1").write_bytes(event_file(version(), *scalars(tag, (0, 1.0))))
    run = pb.read(tmp_path)["."]
    assert run.tags() == [tag]
    assert values(run, tag) == [1.0]


def test_a_tag_that_is_no_utf8_is_shown_escaped(tmp_path):
    payload = event_file(version()) + record(
        Event(step=1).SerializeToString() + b"\x2a\x0c\x0a\x0a\x0a\x03\xff\xfea\x15\x00\x00\x80\x3f"
    )
    (tmp_path / "events.out.tfevents.1").write_bytes(payload)
    run = pb.read(tmp_path)["."]
    assert run.tags() == [r"\xff\xfea"]
    assert values(run, r"\xff\xfea") == [1.0]


# ---- anything at all


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=60) | st.integers(0, len(WHOLE)).map(lambda n: WHOLE[:n]), st.binary(max_size=40))
def test_any_bytes_at_all_are_read_or_noted(start, more):
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
