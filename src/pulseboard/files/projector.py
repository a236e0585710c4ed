"""The embedding projector's configuration: which files hold which points, as protobuf's text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

CONFIG_FILE = "projector_config.pbtxt"
"""Stands in the directory of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """One set of points. Paths are relative to the directory of the run."""

    name: str
    points_path: str  # a line a point, its coordinates between tabs
    labels_path: str | None = None  # a line a point
    sprite_path: str | None = None  # a PNG, a square of small images
    sprite_size: tuple[int, int] = (0, 0)  # width and height of one small image


def projector_config(embeddings: Iterable[Embedding]) -> str:
    """The text of the configuration."""
    return "".join(map(_embedding_text, embeddings))


def _embedding_text(embedding: Embedding) -> str:
    lines = ["embeddings {", f"  tensor_name: {_quoted(embedding.name)}"]
    if embedding.labels_path is not None:
        lines.append(f"  metadata_path: {_quoted(embedding.labels_path)}")
    if embedding.sprite_path is not None:
        lines += ["  sprite {", f"    image_path: {_quoted(embedding.sprite_path)}"]
        lines += [f"    single_image_dim: {size}" for size in embedding.sprite_size]
        lines.append("  }")
    lines += [f"  tensor_path: {_quoted(embedding.points_path)}", "}"]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Printable ASCII as it is, all else as the octal codes of its bytes."""
    plain = set(range(32, 127)) - set(b"\"\\'")
    octets = text.encode("utf-8", "surrogateescape")
    return '"' + "".join(chr(octet) if octet in plain else f"\\{octet:03o}" for octet in octets) + '"'
