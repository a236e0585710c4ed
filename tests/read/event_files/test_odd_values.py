"""Values that cannot be decoded, numbers at the limits of their types, and unusual tags."""

import struct

import pytest
from builders import event_file, record, scalar, scalars, summary, tensor, version
from log_directories import values, write_run
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto

import pulseboard as pb


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


def test_of_a_scalar_tag_only_the_numbers_are_kept(tmp_path):
    values_ = [TensorProto(dtype=1, float_val=[1.0]), TensorProto(dtype=7, string_val=[b"words"])]
    events = [summary(tensor("loss", proto), step=i) for i, proto in enumerate(values_)]
    (tmp_path / "events.out.tfevents.1").write_bytes(event_file(version(), *events))
    run = pb.read(tmp_path)["."]
    assert values(run) == [1.0]
    assert all(note.level == "damage" for note in run.notes())


def test_a_damaged_file_of_another_rank_is_in_the_notes_of_the_run(tmp_path):
    write_run(tmp_path / "exp" / "logs" / "tensorboard", (0, 1.0))
    (tmp_path / "exp" / "run.json").write_text("{}")
    bad = write_run(tmp_path / "exp" / "ranks" / "1")
    bad.write_bytes(b"this is not an event file")
    log = pb.read(tmp_path)
    assert values(log["exp"]) == [1.0]
    assert [note.path for note in log.notes()] == [str(bad)]


def test_extreme_steps_and_times_are_kept(tmp_path):
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
def test_any_text_is_a_tag(tmp_path, tag):
    (tmp_path / "events.out.tfevents.1").write_bytes(event_file(version(), *scalars(tag, (0, 1.0))))
    run = pb.read(tmp_path)["."]
    assert run.tags() == [tag]
    assert values(run, tag) == [1.0]


def test_a_tag_that_is_not_utf8_is_shown_escaped(tmp_path):
    payload = event_file(version()) + record(
        Event(step=1).SerializeToString() + b"\x2a\x0c\x0a\x0a\x0a\x03\xff\xfea\x15\x00\x00\x80\x3f"
    )
    (tmp_path / "events.out.tfevents.1").write_bytes(payload)
    run = pb.read(tmp_path)["."]
    assert run.tags() == [r"\xff\xfea"]
    assert values(run, r"\xff\xfea") == [1.0]


def test_the_summaries_of_a_run_keep_no_object_per_tag(tmp_path):
    """A list of 20,000 runs with all their metrics took three times as long."""
    for tag in ("loss", "accuracy"):
        write_run(tmp_path / "r", (1, 2.0), (2, 1.0), tag=tag, name=f"events.out.tfevents.{tag}")
    write_run(tmp_path / "one", (1, 2.0), (2, 1.0))
    runs = pb.read(tmp_path)
    assert [(stats.tag, stats.min, stats.last_step) for stats in runs["one"].stats()] == [("loss", 1.0, 2)]
    assert not runs["one"]._index
    assert {stats.tag for stats in runs["r"].stats()} == {"loss", "accuracy"}  # of several files: another way
