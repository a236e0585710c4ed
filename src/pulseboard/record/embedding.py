"""Embeddings: the files from which TensorBoard's projector draws points."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pulseboard.files.projector import Embedding
from pulseboard.record.pixels import image_grid, to_bytes
from pulseboard.record.png import encode_png

if TYPE_CHECKING:
    from numpy.typing import NDArray


def embedding_directory(tag: str, *, step: int) -> str:
    """Where the files of an embedding stand, below the run's directory."""
    encoded = tag.replace("%", "%25").replace("/", "%2f").replace("\\", "%5c")
    return f"{str(step).zfill(5)}/{encoded}"


def write_embedding(
    directory: str,
    *,
    below: str,
    name: str,
    points: NDArray[Any],
    labels: Sequence[str] | None,
    images: NDArray[Any] | None,
) -> Embedding:
    """Write `points` (N x D), their `labels` and their `images` (N x C x H x W) to `directory` in `below`."""
    where = os.path.join(below, directory)
    os.makedirs(where, exist_ok=True)
    _write(where, "tensors.tsv", "".join("\t".join(map(str, row)) + "\n" for row in points.tolist()).encode())
    if labels is not None:
        _write(where, "metadata.tsv", ("\n".join(labels) + "\n").encode("utf-8", "replace"))
    if images is not None:
        _write(where, "sprite.png", _sprite(images))
    return Embedding(
        name=name,
        points_path=f"{directory}/tensors.tsv",
        labels_path=None if labels is None else f"{directory}/metadata.tsv",
        sprite_path=None if images is None else f"{directory}/sprite.png",
        sprite_size=(0, 0) if images is None else (images.shape[3], images.shape[2]),
    )


def label_lines(labels: Any, *, header: Sequence[str] | None) -> list[str]:
    """A line a point; with a `header`, a first line more, and as many columns as it has."""
    if not header:
        return [str(label) for label in labels]
    if len(header) != len(labels[0]):
        raise AssertionError(f"metadata_header names {len(header)} columns, and the metadata has {len(labels[0])}.")
    return ["\t".join(map(str, row)) for row in [header, *labels]]


def _sprite(images: NDArray[Any]) -> bytes:
    """As many images to a row as there are rows, on a square: the projector counts on both."""
    import numpy as np

    grid = to_bytes(image_grid(images, columns=math.ceil(math.sqrt(len(images)))))
    side = max(grid.shape[:2])
    square = np.zeros((side, side, 3), np.uint8)
    square[: grid.shape[0], : grid.shape[1]] = grid
    return encode_png(square)


def _write(directory: str, name: str, content: bytes) -> None:
    with open(os.path.join(directory, name), "wb") as file:
        file.write(content)
