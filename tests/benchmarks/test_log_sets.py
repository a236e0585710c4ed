"""The log sets and the scanner: what is written is what TensorBoard, Pulseboard and the scanner read."""

import json
import math
import subprocess

import numpy as np
import pytest
from benchmarks.harness.event_files import write_histograms, write_scalars
from benchmarks.harness.log_sets import SETS, description, make_runs, make_sets, run_names
from benchmarks.harness.tags import TAGS
from benchmarks.read.scanner import build_scanner

import pulseboard as pb

event_accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")


def accumulated(directory):
    run = event_accumulator.EventAccumulator(
        str(directory), size_guidance={"scalars": 0, "tensors": 0, "histograms": 0}
    )
    run.Reload()
    return run


@pytest.fixture(scope="module")
def scanner():
    program = build_scanner()
    if program is None:
        pytest.skip("the scanner needs gcc and an x86-64 processor")
    return program


def scanned(scanner, path, *options):
    done = subprocess.run([scanner, *options, str(path)], capture_output=True, text=True)
    *tags, summary = done.stdout.splitlines()
    return done.returncode, json.loads(summary), [line.split("\t") for line in tags]


@pytest.mark.parametrize("tensors", [False, True])
def test_tensorboard_reads_every_scalar(tmp_path, tensors):
    written = write_scalars(tmp_path, tags=TAGS[:3], steps=300, seed=1, tensors=tensors)
    assert written.events == 901
    run = accumulated(tmp_path)
    for tag in TAGS[:3]:
        events = run.Tensors(tag) if tensors else run.Scalars(tag)
        assert [event.step for event in events] == list(range(300))
        values = [event.tensor_proto.float_val[0] if tensors else event.value for event in events]
        series = pb.read(tmp_path)["."].series(tag)
        assert series.values.tolist() == values
        assert series.wall_times.tolist() == [event.wall_time for event in events]


def test_tensorboard_reads_every_histogram(tmp_path):
    written = write_histograms(tmp_path, tags=2, steps=3, seed=1)
    assert written.events == 7
    run = accumulated(tmp_path)
    for tag in ("weights/layer_00", "weights/layer_01"):
        found = [event.histogram_value for event in run.Histograms(tag)]
        assert [sum(histogram.bucket) for histogram in found] == [10_000.0] * 3
        for histogram in found:
            assert len(histogram.bucket) == len(histogram.bucket_limit)
            assert list(histogram.bucket_limit) == sorted(histogram.bucket_limit)
            assert histogram.bucket[0] == 0
            assert histogram.bucket_limit[0] <= histogram.min
            assert histogram.max <= histogram.bucket_limit[-1]


def test_a_set_is_made_once_and_again_after_its_shape_changes(tmp_path):
    first = make_sets(tmp_path, scale=0.01)
    assert {name: (made["runs"], made["tags"]) for name, made in first.items()} == {
        name: (shape.runs, shape.tags) for name, shape in SETS.items()
    }
    file = next((tmp_path / "a").rglob("*tfevents*"))
    before = file.stat().st_mtime_ns
    assert make_sets(tmp_path, scale=0.01) == first
    assert file.stat().st_mtime_ns == before
    assert make_sets(tmp_path, scale=0.02)["a"]["steps"] == 2 * first["a"]["steps"]


def test_directories_of_many_runs_have_the_runs_tags_and_steps_asked_for(tmp_path):
    path = make_runs(tmp_path, runs=103, tags=22, steps=5)
    runs = pb.read(path)
    assert sorted(runs) == run_names(path) == [f"run_{i:04d}" for i in range(103)]
    assert {len(run.tags("scalar")) for run in runs.values()} == {22}
    assert description(path)["steps"] == 5
    assert runs["run_0101"].series(TAGS[0]).values.tolist() == runs["run_0001"].series(TAGS[0]).values.tolist()


@pytest.mark.parametrize("name", ["a", "a_tensor", "b"])
def test_the_scanner_finds_the_counts_and_sums_that_pulseboard_finds(tmp_path, scanner, name):
    make_sets(tmp_path, scale=0.002)
    code, summary, tags = scanned(scanner, tmp_path / name, "--tags", "--threads", "2")
    assert code == 0
    assert summary["damaged"] == 0
    runs = pb.read(tmp_path / name)
    ours = {(run.name, tag): run.series(tag) for run in runs.values() for tag in run.tags("scalar")}
    theirs = {(path.split("/")[-2], tag): (int(count), float(total)) for path, tag, count, total in tags}
    assert theirs.keys() == ours.keys()
    for key, (count, total) in theirs.items():
        assert count == len(ours[key])
        assert math.isclose(total, float(np.sum(ours[key].values)), rel_tol=1e-12)
    assert summary["values"] == sum(map(len, ours.values()))


def test_the_scanner_reads_steps_of_every_length_and_tensors_of_every_form(tmp_path, scanner):
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(tmp_path))
    values = [
        Summary.Value(tag="a", simple_value=1.0),
        Summary.Value(tag="b", tensor=TensorProto(dtype=1, float_val=[2.0])),
        Summary.Value(tag="c", tensor=TensorProto(dtype=2, double_val=[4.0])),
        Summary.Value(tag="d", tensor=TensorProto(dtype=1, tensor_content=np.float32(8.0).tobytes())),
        Summary.Value(tag="e", tensor=TensorProto(dtype=2, tensor_content=np.float64(16.0).tobytes())),
        Summary.Value(tag="t" * 200, simple_value=32.0),
    ]
    steps = [0, 1, 127, 128, 2**14, 2**21, 2**28, 2**35, -1]
    for step in steps:
        writer.add_event(Event(step=step, wall_time=1.0, summary=Summary(value=values)))
        for value in values:
            writer.add_event(Event(step=step, wall_time=1.0, summary=Summary(value=[value])))
    writer.close()
    code, _, tags = scanned(scanner, tmp_path, "--tags")
    assert code == 0
    assert {tag: (int(count), float(total)) for _, tag, count, total in tags} == {
        value.tag: (2 * len(steps), 2 * len(steps) * 2.0**i) for i, value in enumerate(values)
    }


def test_the_scanner_reports_a_damaged_record(tmp_path, scanner):
    write_scalars(tmp_path, tags=TAGS[:1], steps=10, seed=1)
    (file,) = tmp_path.iterdir()
    data = bytearray(file.read_bytes())
    data[-6] ^= 1
    file.write_bytes(data)
    code, summary, _ = scanned(scanner, tmp_path)
    assert code == 1
    assert (summary["damaged"], summary["values"]) == (1, 9)
