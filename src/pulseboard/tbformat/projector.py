"""The embedding projector's configuration in protobuf's text format: which files hold which points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

CONFIG_FILE = "projector_config.pbtxt"
"""The configuration file's name, in the run's directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """One set of points. Paths are relative to the run's directory."""

    name: str
    points_path: str  # one line per point, coordinates separated by tabs
    labels_path: str | None = None  # one line per point
    sprite_path: str | None = None  # a PNG with a square grid of thumbnails
    sprite_size: tuple[int, int] = (0, 0)  # width and height of one thumbnail


def projector_config(embeddings: Iterable[Embedding]) -> str:
    """The configuration as text."""
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
    """Quote text: printable ASCII as it is, everything else as octal escapes of its bytes."""
    plain = set(range(32, 127)) - set(b"\"\\'")
    octets = text.encode("utf-8", "surrogateescape")
    return '"' + "".join(chr(octet) if octet in plain else f"\\{octet:03o}" for octet in octets) + '"'
