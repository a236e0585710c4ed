"""Values written with torch's and tensorboardX's writers are read back."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorboardX
import torch
from torch.utils import tensorboard as torch_tensorboard

from pulseboard.tbformat.codecs.hparams import hparams_from

Written = Callable[[Path], dict[str, list[Any]]]
WRITERS = [torch_tensorboard.SummaryWriter, tensorboardX.SummaryWriter]
both = pytest.mark.parametrize("writer_class", WRITERS, ids=["torch", "tensorboardX"])


@both
def test_text(writer_class: Any, tmp_path: Path, written: Written) -> None:
    with writer_class(str(tmp_path)) as writer:
        writer.add_text("note", "first *line*", 1, walltime=5.0)
        writer.add_text("note", "second", 2)
    values = written(tmp_path)["note/text_summary"]
    assert [(value.step, value.text) for value in values] == [(1, "first *line*"), (2, "second")]
    assert values[0].wall_time == 5.0


@both
def test_histograms(writer_class: Any, tmp_path: Path, written: Written) -> None:
    data = np.random.default_rng(0).normal(size=1000)
    with writer_class(str(tmp_path)) as writer:
        for step in range(3):
            writer.add_histogram("weights", data * (step + 1), step)
        writer.add_histogram_raw("raw", 0.0, 2.0, 3, 3.0, 5.0, [1.0, 2.0], [1.0, 2.0], 0)
    values = written(tmp_path)
    for step, value in enumerate(values["weights"]):
        assert value.step == step
        assert (value.num, value.counts.sum()) == (1000, 1000)
        assert value.lefts[0] == value.min == pytest.approx(data.min() * (step + 1))
        assert value.rights[-1] == value.max == pytest.approx(data.max() * (step + 1))
        assert (value.lefts[1:] == value.rights[:-1]).all()
        assert value.sum_squares == pytest.approx((data**2).sum() * (step + 1) ** 2)
    (raw,) = values["raw"]
    assert (raw.lefts.tolist(), raw.rights.tolist(), raw.counts.tolist()) == ([0, 1], [1, 2], [1, 2])


@both
def test_images(writer_class: Any, tmp_path: Path, written: Written) -> None:
    import io

    from PIL import Image as Pillow

    pixels = np.arange(3 * 4 * 5, dtype=np.uint8).reshape(3, 4, 5)
    with writer_class(str(tmp_path)) as writer:
        writer.add_image("picture", pixels, 7)
    (value,) = written(tmp_path)["picture"]
    assert (value.width, value.height, value.media_type) == (5, 4, "image/png")
    np.testing.assert_array_equal(np.asarray(Pillow.open(io.BytesIO(value.frames[0]))), pixels.transpose(1, 2, 0))


def test_audio(tmp_path: Path, written: Written) -> None:
    with torch_tensorboard.SummaryWriter(str(tmp_path)) as writer:
        writer.add_audio("sound", torch.zeros(1, 800), 3, sample_rate=8000)
    (value,) = written(tmp_path)["sound"]
    (clip,) = value.clips
    assert (clip.media_type, clip.sample_rate, clip.data[:4]) == ("audio/wav", 8000.0, b"RIFF")


@both
def test_pr_curves(writer_class: Any, tmp_path: Path, written: Written) -> None:
    labels = np.array([0, 1, 1, 0, 1])
    predictions = np.array([0.1, 0.9, 0.6, 0.4, 0.2])
    with writer_class(str(tmp_path)) as writer:
        writer.add_pr_curve("curve", labels, predictions, 4, num_thresholds=11)
    (value,) = written(tmp_path)["curve"]
    # At 0.9 there is still one prediction; above it none, so the last threshold is left off.
    np.testing.assert_allclose(value.thresholds, np.linspace(0, 1, 11)[:10])
    assert (value.true_positives[0], value.false_positives[0]) == (3, 2)
    assert (value.precision[-1], value.recall[0]) == (1, 1)


@both
def test_meshes(writer_class: Any, tmp_path: Path, written: Written) -> None:
    vertices = torch.tensor([[[1.0, 1, 1], [-1, -1, 1], [1, -1, -1], [-1, 1, -1]]])
    colors = torch.tensor([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 0, 255]]])
    faces = torch.tensor([[[0, 2, 3], [0, 3, 1], [0, 1, 2], [1, 3, 2]]])
    config = {"camera": {"cls": "PerspectiveCamera"}}
    with writer_class(str(tmp_path)) as writer:
        writer.add_mesh("cube", vertices, colors=colors, faces=faces, config_dict=config)
    parts = {value.component: value for values in written(tmp_path).values() for value in values}
    assert set(parts) == {"vertex", "face", "color"}
    for component, tensor in {"vertex": vertices, "face": faces, "color": colors}.items():
        np.testing.assert_array_equal(parts[component].array, tensor.numpy())
        assert (parts[component].name, parts[component].shape) == ("cube", (1, 4, 3))
        assert parts[component].config == '{"camera": {"cls": "PerspectiveCamera"}}'


@both
def test_layouts(writer_class: Any, tmp_path: Path, written: Written) -> None:
    layout = {
        "Taiwan": {"twse": ["Multiline", ["twse/0050", "twse/2330"]]},
        "USA": {"dow": ["Margin", ["dow/aaa", "dow/bbb", "dow/ccc"]]},
    }
    with writer_class(str(tmp_path)) as writer:
        writer.add_custom_scalars(layout)
    ((value,),) = written(tmp_path).values()
    taiwan, usa = value.categories
    assert (taiwan.title, taiwan.charts[0].title, taiwan.charts[0].tags) == (
        "Taiwan",
        "twse",
        ("twse/0050", "twse/2330"),
    )
    (series,) = usa.charts[0].series
    assert (series.value, series.lower, series.upper) == ("dow/aaa", "dow/bbb", "dow/ccc")


@both
def test_hyperparameters(writer_class: Any, tmp_path: Path, written: Written) -> None:
    given = {"lr": 0.1, "layers": 3, "optimizer": "adam", "amp": True}
    with writer_class(str(tmp_path)) as writer:
        writer.add_hparams(given, {"accuracy": 0.5})
    found = written(tmp_path)
    got = hparams_from(value for tag in found if tag.startswith("_hparams_/") for value in found[tag])
    assert got.values == {"lr": 0.1, "layers": 3.0, "optimizer": "adam", "amp": True}
    assert got.status == "success"
    assert {info.name: info.type for info in got.hparam_infos} == {
        "lr": "float",
        "layers": "float",
        "optimizer": "string",
        # In Python a bool is an int, and torch checks for int first.
        "amp": "float" if writer_class is torch_tensorboard.SummaryWriter else "bool",
    }
    assert [info.tag for info in got.metric_infos] == ["accuracy"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
@pytest.mark.filterwarnings("ignore::FutureWarning:torch")
def test_graphs(tmp_path: Path, written: Written) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.ReLU())
    with torch_tensorboard.SummaryWriter(str(tmp_path)) as writer:
        writer.add_graph(model, torch.zeros(1, 4))
    found = written(tmp_path)
    (graph,) = found["__run_graph__"]
    nodes = {node.op: node for node in graph.nodes}
    assert nodes["aten::linear"].attrs["_output_shapes"] == [(1, 2)]
    assert nodes["aten::relu"].inputs
    assert [value.tag for value in found["__run_metadata__"]] == ["step1"]


@pytest.mark.parametrize(
    "dtype",
    [
        torch.float32,
        torch.float64,
        torch.half,
        torch.bfloat16,
        torch.int64,
        torch.int8,
        torch.uint8,
        torch.bool,
        torch.complex64,
    ],
    ids=str,
)
def test_tensors(dtype: torch.dtype, tmp_path: Path, written: Written) -> None:
    tensor = torch.tensor([[0, 1, 100], [0, 7, 12]]).to(dtype)
    with torch_tensorboard.SummaryWriter(str(tmp_path)) as writer:
        writer.add_tensor("t", tensor, 2)
    (value,) = written(tmp_path)["t"]
    expected = tensor.float() if dtype == torch.bfloat16 else tensor
    np.testing.assert_array_equal(value.array, expected.numpy())
    assert value.array.dtype == expected.numpy().dtype
