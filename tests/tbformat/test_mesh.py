"""Meshes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.mesh import metadata
from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData
from tensorboard.util import tensor_util


@pytest.mark.parametrize(
    ("content_type", "component", "dtype"),
    [
        (MeshPluginData.VERTEX, "vertex", np.float32),
        (MeshPluginData.FACE, "face", np.int32),
        (MeshPluginData.COLOR, "color", np.uint8),
    ],
)
def test_each_part_of_a_mesh_is_identified(
    decode: Callable[..., Any], content_type: int, component: str, dtype: type
) -> None:
    array = np.arange(12).astype(dtype).reshape(1, 4, 3)
    smd = metadata.create_summary_metadata("cube", None, content_type, 14, [-1, 4, 3], json_config='{"camera": 1}')
    got = decode(Summary.Value(tag="cube_X", metadata=smd, tensor=tensor_util.make_tensor_proto(array)))
    assert (got.name, got.component, got.config, got.shape) == ("cube", component, '{"camera": 1}', (-1, 4, 3))
    np.testing.assert_array_equal(got.array, array)
    assert got.array.dtype == dtype
