"""Logs of the writers people use: torch's SummaryWriter, tensorboardX's, and TensorBoard's own."""

import io
import math
import wave

import numpy as np
import pytest
import tensorboard.summary
import tensorboardX
import torch
from builders import event_file, scalar, summary, version
from PIL import Image
from reference import accumulate, assert_same_run, bits, points_of, runs_by_tensorboard
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.plugins.histogram import summary_v2 as histogram_v2
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from torch.utils.tensorboard import SummaryWriter

import pulseboard as pb

WRITERS = {"torch": SummaryWriter, "tensorboardX": tensorboardX.SummaryWriter}

# As a float32 each is what the file can hold: the awkward ones among them.
VALUES = [0.0, -0.0, 1.5, -2.25, math.inf, -math.inf, math.nan, 2.0**-149, 3.4028234663852886e38, 0.10000000149011612]


@pytest.fixture(params=WRITERS)
def writer(request, tmp_path):
    """One writer of each kind, in a directory of its own."""
    with WRITERS[request.param](str(tmp_path)) as made:
        yield made


def read_back(writer):
    writer.close()
    log = pb.read(writer.logdir if hasattr(writer, "logdir") else writer.log_dir)
    assert log.notes() == []
    return log


def assert_same_log(log, root):
    directories = runs_by_tensorboard(root)
    assert set(log) == set(directories)
    for name, directory in directories.items():
        assert_same_run(log[name], directory)


# ---- scalars


def test_scalars_are_what_was_written_and_what_tensorboard_reads(writer, tmp_path):
    for step, value in enumerate(VALUES):
        writer.add_scalar("train/loss", value, step, walltime=1000.5 + step)
    log = read_back(writer)
    want = [(step, 1000.5 + step, value) for step, value in enumerate(VALUES)]
    assert bits(points_of(log["."].series("train/loss"))) == bits(want)
    assert_same_log(log, tmp_path)


def test_each_line_of_add_scalars_is_a_run_of_its_own(writer, tmp_path):
    for step in range(3):
        writer.add_scalars("loss", {"train": step * 1.0, "validation": step * 2.0}, step)
    log = read_back(writer)
    # torch joins the names with _, tensorboardX with /.
    lines = {name.replace("/", "_"): run.tags("scalar") for name, run in log.items() if run.points}
    assert lines == {"loss_train": ["loss"], "loss_validation": ["loss"]}
    assert_same_log(log, tmp_path)


def test_torchs_tensor_form_of_a_scalar_keeps_its_precision(tmp_path):
    third = 1 / 3  # no float32
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("single", third, 1, new_style=True)
        writer.add_scalar("double", third, 1, new_style=True, double_precision=True)
    run = pb.read(tmp_path)["."]
    assert run.series("single").values.tolist() == [float(np.float32(third))]
    assert run.series("double").values.tolist() == [third]
    assert_same_run(run, tmp_path)


def test_the_tensors_that_tensorboards_own_writer_writes_are_read_as_scalars(tmp_path):
    writer = tensorboard.summary.Writer(str(tmp_path))
    for step, value in enumerate(VALUES):
        writer.add_scalar("loss", value, step, wall_time=2000.25 + step)
    writer.close()
    run = pb.read(tmp_path)["."]
    want = [(step, 2000.25 + step, value) for step, value in enumerate(VALUES)]
    assert bits(points_of(run.series("loss"))) == bits(want)
    assert_same_run(run, tmp_path)


def test_an_event_of_many_values_gives_each_tag_its_point(tmp_path):
    events = [summary(*(scalar(f"t{i}", i + step) for i in range(20)), step=step) for step in range(5)]
    (tmp_path / "events.out.tfevents.1").write_bytes(event_file(version(), *events))
    run = pb.read(tmp_path)["."]
    assert run.tags("scalar") == [f"t{i}" for i in range(20)]
    assert run.points == 100
    assert run.series("t7").values.tolist() == [7, 8, 9, 10, 11]
    assert_same_run(run, tmp_path)


def test_a_tag_that_is_twice_in_an_event_keeps_both_points(tmp_path):
    events = [summary(scalar("loss", 1.0), scalar("loss", 2.0), step=step) for step in range(2)]
    (tmp_path / "events.out.tfevents.1").write_bytes(event_file(version(), *events))
    run = pb.read(tmp_path)["."]
    assert run.series("loss").values.tolist() == [1.0, 2.0, 1.0, 2.0]
    assert_same_run(run, tmp_path)


# ---- everything else


def test_histograms_are_what_tensorboard_reads(writer, tmp_path):
    numbers = np.random.default_rng(0).normal(size=500)
    for step in range(3):
        writer.add_histogram("weights", numbers * (step + 1), step)
    writer.add_histogram("few", np.array([1.0, 2.0, 2.0]), 0, bins="auto")
    log = read_back(writer)
    assert_same_log(log, tmp_path)
    last = log["."].histograms("weights")[-1]
    assert (last.step, last.num, last.min, last.max) == (2, 500, (numbers * 3).min(), (numbers * 3).max())
    assert last.counts.sum() == 500


def test_a_histogram_in_tensor_form_has_the_buckets_it_was_written_with(tmp_path):
    numbers = np.random.default_rng(1).normal(size=200)
    message = histogram_v2.histogram_pb("weights", numbers, buckets=7)
    writer = EventFileWriter(str(tmp_path))
    writer.add_event(Event(step=4, wall_time=9.0, summary=message))
    writer.close()
    (histogram,) = pb.read(tmp_path)["."].histograms("weights")
    counts, edges = np.histogram(numbers, bins=7)
    assert (histogram.step, histogram.wall_time, histogram.num) == (4, 9.0, None)
    np.testing.assert_array_equal(histogram.counts, counts)
    np.testing.assert_allclose(np.append(histogram.lefts, histogram.rights[-1]), edges, rtol=1e-6)


def test_images_come_back_pixel_for_pixel(writer, tmp_path):
    pixels = np.random.default_rng(2).integers(0, 256, size=(3, 4, 5), dtype=np.uint8)
    for step in range(2):
        writer.add_image("sample", pixels, step)
    log = read_back(writer)
    assert_same_log(log, tmp_path)
    image = log["."].images("sample")[1]
    assert (image.step, image.width, image.height, image.media_type) == (1, 5, 4, "image/png")
    decoded = np.asarray(Image.open(io.BytesIO(image.frames[0])))
    np.testing.assert_array_equal(decoded, pixels.transpose(1, 2, 0))


def test_audio_comes_back_sample_for_sample(tmp_path):
    # Only torch's: tensorboardX needs the soundfile package for it.
    samples = np.linspace(-1, 1, 100, dtype=np.float32)
    with SummaryWriter(tmp_path) as writer:
        writer.add_audio("voice", torch.from_numpy(samples)[None], 3, sample_rate=8000)
    run = pb.read(tmp_path)["."]
    assert_same_run(run, tmp_path)
    (audio,) = run.audio("voice")
    (clip,) = audio.clips
    assert (audio.step, clip.media_type, clip.sample_rate) == (3, "audio/wav", 8000)
    with wave.open(io.BytesIO(clip.data)) as stream:
        got = np.frombuffer(stream.readframes(100), "<i2")
    np.testing.assert_array_equal(got, (samples * np.iinfo(np.int16).max).astype("<i2"))


def test_text_is_what_was_written(writer, tmp_path):
    texts = ["**loss** fell", "ümlaut, 漢字 and\nlines", ""]
    for step, text in enumerate(texts):
        writer.add_text("notes", text, step)
    log = read_back(writer)
    assert_same_log(log, tmp_path)
    (tag,) = log["."].tags("text")
    assert [(text.step, text.text) for text in log["."].texts(tag)] == list(enumerate(texts))


def test_hparams_are_in_a_run_of_their_own_with_their_metrics(writer, tmp_path):
    writer.add_hparams({"lr": 0.5, "layers": 3, "amp": True, "name": "ada"}, {"accuracy": 0.25})
    log = read_back(writer)
    assert_same_log(log, tmp_path)
    (run,) = [run for run in log.values() if run.tags("hparams")]
    hparams = run.hparams()
    assert hparams.values == {"lr": 0.5, "layers": 3.0, "amp": True, "name": "ada"}
    assert [info.tag for info in hparams.metric_infos] == ["accuracy"]
    assert hparams.records >= {"experiment", "session_start"}
    assert run.series("accuracy").values.tolist() == [0.25]


def test_a_run_without_hparams_returns_none(writer):
    writer.add_scalar("loss", 1.0, 0)
    assert read_back(writer)["."].hparams() is None


def test_pr_curves_have_the_counts_that_were_written(writer):
    truth = np.array([0, 0, 1, 1])
    guess = np.array([0.1, 0.6, 0.4, 0.9])
    writer.add_pr_curve("quality", truth, guess, 2, num_thresholds=11)
    run = read_back(writer)["."]
    (curve,) = run.values(run.tags("pr_curve")[0], kind="pr_curve")
    assert curve.step == 2
    at = int(np.searchsorted(curve.thresholds, 0.5))
    assert (curve.true_positives[at], curve.false_positives[at]) == (1, 1)
    assert (curve.true_negatives[at], curve.false_negatives[at]) == (1, 1)
    assert (curve.precision[at], curve.recall[at]) == (0.5, 0.5)


def test_the_layout_of_custom_scalars_is_what_was_written(writer):
    writer.add_custom_scalars(
        {
            "losses": {"both": ["Multiline", ["loss/train", "loss/validation"]]},
            "bands": {"accuracy": ["Margin", ["mean", "low", "high"]]},
        }
    )
    run = read_back(writer)["."]
    (layout,) = run.values(run.tags("custom_scalars")[0], kind="custom_scalars")
    charts = {category.title: category.charts for category in layout.categories}
    assert charts["losses"][0].tags == ("loss/train", "loss/validation")
    (band,) = charts["bands"][0].series
    assert (band.value, band.lower, band.upper) == ("mean", "low", "high")


def test_meshes_have_the_points_that_were_written(writer):
    vertices = np.arange(12, dtype=np.float32).reshape(1, 4, 3)
    faces = np.array([[[0, 1, 2], [1, 2, 3]]], dtype=np.int32)
    writer.add_mesh("shape", torch.from_numpy(vertices), faces=torch.from_numpy(faces), global_step=5)
    run = read_back(writer)["."]
    parts = {mesh.component: mesh for tag in run.tags("mesh") for mesh in run.values(tag, kind="mesh")}
    assert set(parts) == {"vertex", "face"}
    np.testing.assert_array_equal(parts["vertex"].array, vertices)
    np.testing.assert_array_equal(parts["face"].array, faces)
    assert {mesh.step for mesh in parts.values()} == {5}
    assert {mesh.name for mesh in parts.values()} == {"shape"}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::torch.jit.TracerWarning")
def test_a_models_graph_has_its_layers(tmp_path):
    class Tiny(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.narrow = torch.nn.Linear(4, 2)

        def forward(self, x):
            return self.narrow(x).relu()

    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(Tiny(), torch.zeros(1, 4))
    run = pb.read(tmp_path)["."]
    (tag,) = run.tags("graph")
    (graph,) = run.values(tag, kind="graph")
    want = accumulate(tmp_path).Graph()
    assert [(n.name, n.op, n.inputs) for n in graph.nodes] == [(n.name, n.op, tuple(n.input)) for n in want.node]
    assert any("narrow" in node.name for node in graph.nodes)


def test_all_kinds_in_one_run_are_distinguished(writer, tmp_path):
    writer.add_scalar("a", 1.0, 0)
    writer.add_histogram("b", np.arange(5.0), 0)
    writer.add_image("c", np.zeros((3, 2, 2), np.uint8), 0)
    writer.add_text("d", "words", 0)
    log = read_back(writer)
    kinds = {tag: info.kinds for tag, info in log["."].infos().items()}
    assert set(map(tuple, kinds.values())) == {("scalar",), ("histogram",), ("image",), ("text",)}
    assert log["."].kinds() == ["scalar", "histogram", "image", "text"]
    sizes = log["."].bytes_by_kind()
    assert sum(sizes.values()) == log["."].size_bytes
