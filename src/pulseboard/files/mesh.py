"""Meshes: vertices, faces or colors, each a tensor whose metadata says which."""

from __future__ import annotations

from typing import Literal

from pulseboard.core.values import Mesh
from pulseboard.files.stored import StoredValue
from pulseboard.files.wire import Message

_COMPONENTS: dict[int, Literal["vertex", "face", "color"]] = {1: "vertex", 2: "face", 3: "color"}


def decode_mesh(value: StoredValue) -> Mesh:
    """One part of a mesh."""
    declared = Message(value.metadata.content)
    return Mesh(
        step=value.step,
        wall_time=value.wall_time,
        name=declared.text(2),
        component=_COMPONENTS.get(declared.integer(3), "undefined"),
        array=value.tensor(),
        config=declared.text(5),
        shape=tuple(declared.integers(6)),
    )
