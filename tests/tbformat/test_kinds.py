"""From a field number and a plugin to the kind of data."""

import pytest
from tensorboard.plugins.audio import metadata as audio
from tensorboard.plugins.custom_scalar import metadata as custom_scalars
from tensorboard.plugins.graph import metadata as graph
from tensorboard.plugins.histogram import metadata as histogram
from tensorboard.plugins.hparams import metadata as hparams
from tensorboard.plugins.image import metadata as image
from tensorboard.plugins.mesh import metadata as mesh
from tensorboard.plugins.pr_curve import metadata as pr_curve
from tensorboard.plugins.scalar import metadata as scalar
from tensorboard.plugins.text import metadata as text

from pulseboard.tbformat.kinds import BY_PLUGIN, DECLARATION, METADATA_ONLY, fields_in, kind_of


@pytest.mark.parametrize(
    ("field", "kind"),
    [(2, "scalar"), (4, "image"), (5, "histogram"), (6, "audio"), (104, "graph"), (106, "log"), (108, "run_metadata")],
)
def test_old_fields_determine_the_kind_whatever_the_plugin(field: int, kind: str) -> None:
    assert kind_of(field, None) == kind
    assert kind_of(field, "text") == kind


@pytest.mark.parametrize(
    ("plugin", "kind"),
    [
        (scalar.PLUGIN_NAME, "scalar"),
        (histogram.PLUGIN_NAME, "histogram"),
        (image.PLUGIN_NAME, "image"),
        (audio.PLUGIN_NAME, "audio"),
        (text.PLUGIN_NAME, "text"),
        (hparams.PLUGIN_NAME, "hparams"),
        (pr_curve.PLUGIN_NAME, "pr_curve"),
        (mesh.PLUGIN_NAME, "mesh"),
        (custom_scalars.PLUGIN_NAME, "custom_scalars"),
        (graph.PLUGIN_NAME, "graph"),
        (graph.PLUGIN_NAME_KERAS_MODEL, "keras_graph"),
        (graph.PLUGIN_NAME_RUN_METADATA, "run_metadata"),
        (graph.PLUGIN_NAME_RUN_METADATA_WITH_GRAPH, "run_metadata"),
        (graph.PLUGIN_NAME_TAGGED_RUN_METADATA, "run_metadata"),
        (None, "tensor"),
        ("", "tensor"),
        ("flight", "flight"),
    ],
)
def test_the_plugin_determines_the_kind_of_a_tensor(plugin: str | None, kind: str) -> None:
    assert kind_of(8, plugin) == kind


@pytest.mark.parametrize("plugin", [name for name in BY_PLUGIN if name != "hparams"])
def test_a_value_with_nothing_but_metadata_is_a_declaration(plugin: str) -> None:
    assert kind_of(METADATA_ONLY, plugin) == DECLARATION


@pytest.mark.parametrize("plugin", ["hparams", "flight"])
def test_some_plugins_keep_their_values_in_metadata(plugin: str) -> None:
    assert kind_of(METADATA_ONLY, plugin) == plugin


def test_a_meta_graph_is_a_graph() -> None:
    assert kind_of(109, None) == "graph"


def test_the_kernels_bits_become_field_numbers() -> None:
    assert fields_in(0) == []
    assert fields_in(1 << 0 | 1 << 8 | 1 << (104 - 84) | 1 << (109 - 84)) == [0, 8, 104, 109]
