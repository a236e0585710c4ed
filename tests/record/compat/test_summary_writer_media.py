"""SummaryWriter against torch's: images, figures, videos, sound, meshes, graphs and embeddings."""

import io

import numpy as np
import pytest
import torch
from both_writers import call_both, events_in, pixels_of, values_of
from google.protobuf import text_format
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from reference import accumulate
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig
from torch.utils import tensorboard as torch_tensorboard

from pulseboard.record.compat.summary_writer import SummaryWriter
from pulseboard.record.media.png import encode_png

RNG = np.random.default_rng(0)


def assert_same_images(both):
    """Sizes, channels and every pixel: the encodings differ."""
    theirs, ours = values_of(both.torch), values_of(both.ours)
    assert [e.step for e in both.ours["."]] == [e.step for e in both.torch["."]]
    for want, got in zip(theirs, ours, strict=True):
        assert got.tag == want.tag
        assert (got.image.height, got.image.width) == (want.image.height, want.image.width)
        assert got.image.colorspace == want.image.colorspace
        np.testing.assert_array_equal(pixels_of(got), pixels_of(want))


def both_raise(tmp_path, error, call):
    """The call is wrong for torch's writer, and for ours in the same way."""
    for name, writer_class in (("torch", torch_tensorboard.SummaryWriter), ("ours", SummaryWriter)):
        with writer_class(str(tmp_path / name)) as writer, pytest.raises(error):
            call(writer)


# ---------- images

IMAGES = {
    "CHW": RNG.random((3, 7, 5)),
    "HWC": RNG.random((7, 5, 3)).astype(np.float32),
    "HW": RNG.random((7, 5)),
    "WH": RNG.random((5, 7)),
    "chw": RNG.integers(0, 256, (1, 7, 5), dtype=np.uint8),
    "CWH": RNG.integers(0, 256, (3, 5, 7), dtype=np.uint8),
    "NCHW": RNG.random((10, 3, 4, 5)),
    "NHWC": RNG.integers(0, 256, (3, 4, 5, 1), dtype=np.uint8),
    "nchw": RNG.random((1, 1, 4, 5)),
}


@pytest.mark.parametrize("form", [np.asarray, torch.tensor], ids=["array", "tensor"])
@pytest.mark.parametrize("dataformats", IMAGES)
def test_an_image_has_the_same_pixels_as_in_torch(tmp_path, dataformats, form):
    image = form(IMAGES[dataformats])
    assert_same_images(call_both(tmp_path, lambda w: w.add_image("i", image, 3, dataformats=dataformats)))


@pytest.mark.parametrize(
    "image",
    [
        np.linspace(-1, 2, 48).reshape(3, 4, 4),
        RNG.random((4, 6, 5)),
        RNG.random((2, 6, 5)),
        RNG.integers(0, 3, (3, 6, 5)),
        RNG.random((3, 6, 5)) > 0.5,
        RNG.random((3, 6, 5)).astype(np.float16),
        RNG.random((3, 5, 6)).transpose(0, 2, 1),
        np.zeros((3, 1, 1)),
    ],
    ids=["clipped", "alpha", "gray with alpha", "int", "bool", "half", "strided", "one pixel"],
)
def test_values_become_pixels_as_with_torch(tmp_path, image):
    assert_same_images(call_both(tmp_path, lambda w: w.add_image("i", image)))


def test_batches_become_a_grid_as_with_torch(tmp_path):
    images, gray = RNG.random((19, 3, 4, 6)), RNG.random((2, 4, 6, 1))
    assert_same_images(call_both(tmp_path, lambda w: w.add_images("i", images, 2)))
    assert_same_images(call_both(tmp_path / "gray", lambda w: w.add_images("i", gray, dataformats="NHWC")))


def test_a_pillow_image_is_an_array(tmp_path):
    pixels = RNG.integers(0, 256, (4, 5, 3), dtype=np.uint8)
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("i", Image.fromarray(pixels), dataformats="HWC")
    np.testing.assert_array_equal(pixels_of(values_of(events_in(tmp_path))[0]), pixels)


def test_nan_is_black(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("i", np.array([[[np.nan, 1.0, np.inf, -np.inf]]]))
    assert pixels_of(values_of(events_in(tmp_path))[0])[0, :, 0].tolist() == [0, 255, 255, 0]


@pytest.mark.parametrize(
    ("shape", "dataformats", "error"),
    [
        ((3, 4, 4), "CHH", AssertionError),
        ((4, 4), "CHW", AssertionError),
        ((2, 2, 4, 4), "NCHW", AssertionError),
        ((5, 4, 4), "CHW", TypeError),
        ((3, 0, 4), "CHW", (ValueError, SystemError)),
    ],
)
def test_an_array_that_is_not_an_image_is_refused(tmp_path, shape, dataformats, error):
    both_raise(tmp_path, error, lambda w: w.add_image("i", np.zeros(shape), dataformats=dataformats))


@settings(deadline=None)
@given(height=st.integers(1, 20), width=st.integers(1, 20), channels=st.integers(1, 4), seed=st.integers(0, 2**32 - 1))
def test_a_png_holds_the_pixels_it_was_made_from(height, width, channels, seed):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, channels), dtype=np.uint8)
    image = Image.open(io.BytesIO(encode_png(pixels)))
    image.verify()
    read = np.asarray(Image.open(io.BytesIO(encode_png(pixels))))
    np.testing.assert_array_equal(read.reshape(pixels.shape), pixels)
    assert image.mode == {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}[channels]


BOXES = np.array([[10, 10, 40, 40], [40.5, 40, 60, 60]])


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"labels": ["cat", "dog"]},
        {"labels": ["cat", ""]},
        {"labels": "one label for two boxes"},
        {"rescale": 0.5},
        {"rescale": 2, "labels": ["a", "b"]},
    ],
    ids=str,
)
def test_boxes_are_drawn_as_torch_draws_them(tmp_path, arguments):
    image = RNG.random((3, 64, 64))
    assert_same_images(call_both(tmp_path, lambda w: w.add_image_with_boxes("b", image, BOXES, 1, **arguments)))
    tensor = torch.tensor(image).permute(1, 2, 0)
    assert_same_images(
        call_both(
            tmp_path / "tensor",
            lambda w: w.add_image_with_boxes("b", tensor, torch.tensor(BOXES), dataformats="HWC", **arguments),
        )
    )


# ---------- figures


@pytest.fixture
def pyplot(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    yield plt
    plt.close("all")


def test_figures_have_the_same_pixels_as_in_torch(tmp_path, pyplot):
    def figure(slope):
        made, axes = pyplot.subplots(figsize=(3, 2))
        axes.plot([0, 1], [0, slope])
        return made

    assert_same_images(call_both(tmp_path, lambda w: w.add_figure("f", figure(1), 2)))
    assert_same_images(call_both(tmp_path / "list", lambda w: w.add_figure("f", [figure(1), figure(2)], 2)))


def test_figures_are_closed_unless_they_should_stay(tmp_path, pyplot):
    figures = [pyplot.figure() for _ in range(2)]
    canvas = figures[0].canvas
    with SummaryWriter(tmp_path) as writer:
        writer.add_figure("f", figures[0], close=False)
        writer.add_figure("f", figures, close=False)
        assert all(pyplot.fignum_exists(figure.number) for figure in figures)
        assert figures[0].canvas is canvas
        writer.add_figure("f", figures)
        assert not any(pyplot.fignum_exists(figure.number) for figure in figures)


# ---------- videos


@pytest.mark.parametrize("count", [1, 2, 3, 5, 16])
@pytest.mark.parametrize("channels", [1, 3])
def test_videos_are_laid_out_as_torch_lays_them_out(tmp_path, count, channels):
    from torch.utils.tensorboard._utils import _prepare_video

    videos = RNG.integers(0, 2, (count, 3, channels, 4, 6)).astype(np.float32)
    with SummaryWriter(tmp_path) as writer:
        writer.add_video("v", videos, 5, fps=10)
    (value,) = values_of(events_in(tmp_path))
    want = (_prepare_video(videos) * 255).astype(np.uint8)
    gif = Image.open(io.BytesIO(value.image.encoded_image_string))
    assert (gif.format, gif.n_frames, gif.info["duration"]) == ("GIF", 3, 100)
    assert (value.image.height, value.image.width, value.image.colorspace) == want.shape[1:]
    for i in range(3):
        gif.seek(i)
        np.testing.assert_array_equal(np.asarray(gif.convert("RGB")), np.broadcast_to(want[i], (*want.shape[1:3], 3)))


def test_a_video_of_bytes_keeps_them(tmp_path):
    videos = torch.full((1, 2, 3, 4, 4), 200, dtype=torch.uint8)
    with SummaryWriter(tmp_path) as writer:
        writer.add_video("v", videos)
    gif = pixels_of(values_of(events_in(tmp_path))[0])
    assert gif.shape == (4, 4) or gif.shape == (4, 4, 3)


# ---------- sound


@pytest.mark.parametrize(
    "sound",
    [
        np.sin(np.arange(800) / 10),
        RNG.uniform(-1, 1, (1, 300)).astype(np.float32),
        torch.zeros(1, 800),
        np.array([0, 1, -1, 0]),
        np.linspace(-2, 2, 50),
    ],
    ids=["float64", "float32", "tensor", "int", "too loud"],
)
def test_audio_is_stored_as_torch_stores_it(tmp_path, sound):
    both = call_both(tmp_path, lambda w: w.add_audio("s", sound, 3, sample_rate=8000))
    assert both.ours == both.torch


def test_stereo_audio_is_refused(tmp_path):
    both_raise(tmp_path, AssertionError, lambda w: w.add_audio("s", np.zeros((2, 100))))


def test_audio_with_nan_is_logged(tmp_path, capsys):
    with SummaryWriter(tmp_path) as writer:
        writer.add_audio("s", np.array([0.5, np.nan, np.inf]))
    (clip,) = accumulate(tmp_path).Audio("s")
    assert np.frombuffer(clip.encoded_audio_string[-6:], "<i2").tolist() == [16383, 0, 32767]
    assert "clipped" in capsys.readouterr().err


# ---------- meshes

VERTICES = torch.tensor([[[1.0, 1, 1], [-1, -1, 1], [1, -1, -1], [-1, 1, -1]]])
COLORS = torch.tensor([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 0, 255]]])
FACES = torch.tensor([[[0, 2, 3], [0, 3, 1], [0, 1, 2], [1, 3, 2]]])


def test_meshes_are_stored_as_torch_stores_them(tmp_path):
    def calls(writer):
        writer.add_mesh("cloud", VERTICES, global_step=1)
        writer.add_mesh("colored", VERTICES.numpy(), colors=COLORS.numpy())
        writer.add_mesh("mesh", VERTICES.tolist(), COLORS, FACES, {"lights": [], "camera": {"fov": 75}}, 2)

    both = call_both(tmp_path, calls)
    assert both.ours == both.torch


def test_a_mesh_without_a_batch_is_refused(tmp_path):
    both_raise(tmp_path, ValueError, lambda w: w.add_mesh("m", VERTICES[0]))


# ---------- graphs


class Net(torch.nn.Module):
    """Two layers, and a dictionary where one is asked for."""

    def __init__(self, *, as_dict=False):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2))
        self.as_dict = as_dict

    def forward(self, x):
        out = self.layers(x)
        return {"out": out} if self.as_dict else out


tracing = pytest.mark.filterwarnings("ignore::DeprecationWarning:torch", "ignore::FutureWarning:torch")


@tracing
def test_graphs_are_stored_as_torch_stores_them(tmp_path):
    model = Net()

    def calls(writer):
        writer.add_graph(model, torch.zeros(1, 3))

    both = call_both(tmp_path, calls)
    assert both.ours == both.torch
    assert model.training
    assert accumulate(tmp_path / "ours").Graph().node


@tracing
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_a_model_that_cannot_be_traced_is_refused_as_in_torch(tmp_path, capsys):
    both_raise(tmp_path, RuntimeError, lambda w: w.add_graph(Net(), torch.zeros(1, 9)))
    both_raise(tmp_path, RuntimeError, lambda w: w.add_graph(Net(as_dict=True), torch.zeros(1, 3)))
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(Net(as_dict=True), torch.zeros(1, 3), use_strict_trace=False)


def test_an_onnx_graph_without_onnx_is_reported(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with SummaryWriter(tmp_path) as writer:
        writer.add_onnx_graph("model.onnx")
    assert "this needs onnx" in capsys.readouterr().err


# ---------- embeddings

POINTS = torch.tensor([[1.0, 2.0, 3.0], [5.0, 4.0, 0.1], [3.0, 7.0, 7.0]])


def embedding_files(directory):
    """The files below a directory by their paths, without event files; images as their pixels."""
    found = {}
    for path in sorted(directory.rglob("*")):
        if path.is_dir() or "tfevents" in path.name:
            continue
        read = {".png": lambda p: np.asarray(Image.open(p)).tolist()}.get(path.suffix, lambda p: p.read_bytes())
        found[str(path.relative_to(directory))] = read(path)
    return found


def test_embeddings_are_written_as_torch_writes_them(tmp_path):
    labels = torch.tensor([33.0, 44.0, 55.0])

    def calls(writer):
        writer.add_embedding(POINTS, metadata=labels, label_img=torch.rand_like(torch.zeros(3, 3, 5, 5)), global_step=2)
        writer.add_embedding(POINTS.numpy(), ["a", "b", "ü"], tag="words/of %x\\y")
        rows = [[1, "test"], [2, "train"], [3, "train"]]
        writer.add_embedding(POINTS.double(), rows, metadata_header=["digit", "set"], global_step=12345, tag='quo"te')

    for name, writer_class in (("torch", torch_tensorboard.SummaryWriter), ("ours", SummaryWriter)):
        torch.manual_seed(0)
        with writer_class(str(tmp_path / name)) as writer:
            calls(writer)
    theirs, ours = embedding_files(tmp_path / "torch"), embedding_files(tmp_path / "ours")
    assert ours.keys() == theirs.keys()
    for path in theirs.keys() - {"projector_config.pbtxt"}:
        assert ours[path] == theirs[path], path
    parsed = [
        text_format.Parse(files["projector_config.pbtxt"].decode(), ProjectorConfig()) for files in (theirs, ours)
    ]
    assert parsed[0] == parsed[1]
    assert len(parsed[1].embeddings) == 3


def test_images_of_bytes_keep_their_brightness_in_an_embedding(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(POINTS, label_img=torch.full((3, 1, 2, 2), 100, dtype=torch.uint8))
    pixels = np.asarray(Image.open(tmp_path / "00000" / "default" / "sprite.png"))
    assert pixels.shape == (4, 4, 3)
    assert pixels[:2].tolist() == np.full((2, 4, 3), 100).tolist()
    assert pixels[2:, 2:].max() == 0


@pytest.mark.parametrize(
    "arguments",
    [
        {"metadata": ["a", "b"]},
        {"label_img": torch.zeros(2, 3, 5, 5)},
        {"metadata": [[1], [2], [3]], "metadata_header": ["a", "b"]},
        {"mat": torch.zeros(3)},
    ],
    ids=str,
)
def test_wrong_embeddings_are_refused(tmp_path, arguments):
    both_raise(tmp_path, AssertionError, lambda w: w.add_embedding(**{"mat": POINTS, **arguments}))


def test_an_embedding_in_place_of_a_file_is_refused(tmp_path):
    for name in ("torch", "ours"):
        (tmp_path / name / "00000").mkdir(parents=True)
        (tmp_path / name / "00000" / "default").write_text("")
    both_raise(tmp_path, NotADirectoryError, lambda w: w.add_embedding(POINTS))


def test_overwriting_an_embedding_is_reported(tmp_path, capsys):
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(POINTS)
        writer.add_embedding(POINTS)
    assert "'default' of step 0 is overwritten" in capsys.readouterr().err
