"""Meshes: vertices, faces or colors, each in its own tensor; the metadata says which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pulseboard.core.values import Mesh
from pulseboard.tbformat.kinds import TENSOR_FIELD
from pulseboard.tbformat.stored_value import StoredValue, metadata_bytes, value_bytes
from pulseboard.tbformat.tensor import float_tensor_bytes
from pulseboard.tbformat.wire import Message, packed_varints_field, text_field, varint_field

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

_COMPONENTS: dict[int, Literal["vertex", "face", "color"]] = {1: "vertex", 2: "face", 3: "color"}


def decode_mesh(value: StoredValue) -> Mesh:
    """Decode one part of a mesh."""
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


# ---------- writing


def encode_mesh(
    tag: str,
    *,
    vertices: NDArray[Any],
    faces: NDArray[Any] | None = None,
    colors: NDArray[Any] | None = None,
    config: str = "{}",
) -> tuple[bytes, ...]:
    """The Summary.Values of a mesh, one per part, for one Event. Each part is batch x n x 3."""
    arrays = {1: vertices, 2: faces, 3: colors}
    parts = {number: array for number, array in arrays.items() if array is not None}
    present = sum(1 << number for number in parts)
    return tuple(
        _part_bytes(tag, number=number, array=array, present=present, config=config) for number, array in parts.items()
    )


def _part_bytes(tag: str, *, number: int, array: NDArray[Any], present: int, config: str) -> bytes:
    if array.ndim != 3:
        raise ValueError(f"The parts of a mesh must be batch x n x 3; one of {tag!r} has the shape {array.shape}.")
    declared = (
        text_field(2, value=tag)
        + varint_field(3, value=number)
        + text_field(5, value=config)
        + packed_varints_field(6, values=array.shape)
        + varint_field(7, value=present)
    )
    return value_bytes(
        f"{tag}_{_COMPONENTS[number].upper()}",
        field=TENSOR_FIELD,
        content=float_tensor_bytes(array),
        metadata=metadata_bytes("mesh", content=declared),
    )
