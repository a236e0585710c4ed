"""Embeddings: the files that TensorBoard's projector reads."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pulseboard.record.media.pixels import image_grid, to_bytes
from pulseboard.record.media.png import encode_png
from pulseboard.tbformat.projector import Embedding

if TYPE_CHECKING:
    from numpy.typing import NDArray


def embedding_directory(tag: str, *, step: int) -> str:
    """Where the files of an embedding are, relative to the run's directory."""
    encoded = tag.replace("%", "%25").replace("/", "%2f").replace("\\", "%5c")
    return f"{str(step).zfill(5)}/{encoded}"


def write_embedding(
    directory: str,
    *,
    run_directory: str,
    name: str,
    points: NDArray[Any],
    labels: Sequence[str] | None,
    images: NDArray[Any] | None,
) -> Embedding:
    """Write `points` (N x D), their `labels` and their `images` (N x C x H x W) to `directory` in the run's."""
    path = os.path.join(run_directory, directory)
    os.makedirs(path, exist_ok=True)
    _write(path, "tensors.tsv", "".join("\t".join(map(str, row)) + "\n" for row in points.tolist()).encode())
    if labels is not None:
        _write(path, "metadata.tsv", ("\n".join(labels) + "\n").encode("utf-8", "replace"))
    if images is not None:
        _write(path, "sprite.png", _sprite(images))
    return Embedding(
        name=name,
        points_path=f"{directory}/tensors.tsv",
        labels_path=None if labels is None else f"{directory}/metadata.tsv",
        sprite_path=None if images is None else f"{directory}/sprite.png",
        sprite_size=(0, 0) if images is None else (images.shape[3], images.shape[2]),
    )


def label_lines(labels: Any, *, header: Sequence[str] | None) -> list[str]:
    """One line per point; with a `header`, that line first, and as many columns as it has."""
    if not header:
        return [str(label) for label in labels]
    if len(header) != len(labels[0]):
        raise AssertionError(f"metadata_header has {len(header)} columns, but the metadata has {len(labels[0])}.")
    return ["\t".join(map(str, row)) for row in [header, *labels]]


def _sprite(images: NDArray[Any]) -> bytes:
    """All images on a square with as many columns as rows: the projector requires both."""
    import numpy as np

    grid = to_bytes(image_grid(images, columns=math.ceil(math.sqrt(len(images)))))
    side = max(grid.shape[:2])
    square = np.zeros((side, side, 3), np.uint8)
    square[: grid.shape[0], : grid.shape[1]] = grid
    return encode_png(square)


def _write(directory: str, name: str, content: bytes) -> None:
    with open(os.path.join(directory, name), "wb") as file:
        file.write(content)
