"""Archived event files that are truncated or damaged."""

import gzip
import random
from pathlib import Path

import pytest
from builders import event_file, head, scalars, summary, tensor, version
from log_directories import all_of, values
from tensorboard.compat.proto.tensor_pb2 import TensorProto

import pulseboard as pb
from pulseboard.kernel.reader import EventLog
from pulseboard.read.event_files import event_file as event_file_module
from pulseboard.read.event_files.event_file import EventFile


def _archive():
    events = [version(), *scalars("loss", *((i, random.Random(i).random()) for i in range(3000)))]
    return event_file(*events), gzip.compress(event_file(*events), mtime=0)


def test_a_truncated_archive_has_its_complete_records(read_bad_file):
    plain, packed = _archive()
    run, note = read_bad_file(packed[: len(packed) // 2], name="events.out.tfevents.1.gz")
    assert 1000 < len(values(run)) < 3000
    assert note.level == "damage"
    assert "The archive is damaged" in note.what
    assert f"Read {run.points + 1:,} records before that" in note.what
    assert plain[note.byte - 4 : note.byte] != b""


def test_values_of_a_truncated_archive_can_still_be_decoded(tmp_path):
    writer_events = [version()]
    for i in range(300):
        value = tensor("words", TensorProto(dtype=7, string_val=[random.Random(i).randbytes(40).hex().encode()]))
        value.metadata.plugin_data.plugin_name = "text"
        writer_events.append(summary(value, step=i))
    packed = gzip.compress(event_file(*writer_events), mtime=0)
    (tmp_path / "events.out.tfevents.1.gz").write_bytes(packed[: len(packed) * 2 // 3])
    run = pb.read(tmp_path)["."]
    assert len(run.texts("words")) == run.infos()["words"].spans > 100


def test_an_archive_with_flipped_bits_gets_a_note(tmp_path):
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
def test_a_file_that_is_only_named_like_an_archive_gets_a_note(read_bad_file, data):
    run, note = read_bad_file(data, name="events.out.tfevents.1.gz")
    assert run.tags() == []
    assert (note is None) == (data == b"")


def test_a_long_record_in_an_archive_is_put_together_once(tmp_path, monkeypatch):
    """The beginning of a record was copied again with every chunk: the time grew with the square of its length."""
    fed = 0
    feed = EventLog.feed

    class Counted:
        """A log that counts the bytes it is fed."""

        def __init__(self):
            self._log = EventLog()

        def __getattr__(self, name):
            return getattr(self._log, name)

        def feed(self, data):
            nonlocal fed
            fed += len(data)
            return feed(self._log, data)

    text = "x" * (8 << 20)
    proto = TensorProto(dtype=7, string_val=[text.encode()])
    path = tmp_path / "events.out.tfevents.1.gz"
    data = event_file(version(), summary(tensor("notes", proto, plugin="text")), *scalars("loss", (1, 2.0)))
    path.write_bytes(gzip.compress(data, 1))
    monkeypatch.setattr(event_file_module, "_CHUNK_BYTES", 64 << 10)
    file = EventFile(str(path))
    file.log = Counted()
    file.load()
    assert file.log.points == 1
    assert fed < 3 * len(data)  # with 64 KiB at a time it was 65 times as much


def test_an_archive_that_unpacks_to_far_more_than_its_size_is_left_out_from_there_on(tmp_path, monkeypatch):
    monkeypatch.setattr(event_file_module, "_MIN_UNPACKED_BYTES", 1 << 20)
    good = event_file(version(), *scalars("loss", (0, 1.0)))
    bomb = head(64 << 20) + bytes(64 << 20)
    path = tmp_path / "events.out.tfevents.1.gz"
    path.write_bytes(gzip.compress(good + bomb, 9))
    assert path.stat().st_size < 100_000
    run = pb.read(tmp_path)["."]
    assert run.series("loss").values.tolist() == [1.0]
    (note,) = run.notes()
    assert "unpacks to more than 100 times" in note.what
