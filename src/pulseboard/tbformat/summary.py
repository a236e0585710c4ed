"""Summaries: a stored value and its metadata in, the value class for its kind out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pulseboard.core.histogram import Histogram
from pulseboard.core.values import Raw, Tensor, Value
from pulseboard.tbformat import kinds
from pulseboard.tbformat.codecs.audio import decode_audio
from pulseboard.tbformat.codecs.custom_scalars import decode_layout
from pulseboard.tbformat.codecs.graph import decode_graph, decode_keras_graph
from pulseboard.tbformat.codecs.histogram import decode_histogram
from pulseboard.tbformat.codecs.hparams import decode_hparams
from pulseboard.tbformat.codecs.image import decode_image
from pulseboard.tbformat.codecs.log_line import decode_log_line
from pulseboard.tbformat.codecs.mesh import decode_mesh
from pulseboard.tbformat.codecs.pr_curve import decode_pr_curve
from pulseboard.tbformat.codecs.run_metadata import decode_run_metadata
from pulseboard.tbformat.codecs.text import decode_text
from pulseboard.tbformat.stored_value import StoredValue, metadata_bytes, stored_value, value_bytes


def decode_value(
    kind: str, value_bytes: bytes, metadata_bytes: bytes, *, step: int, wall_time: float, field: int
) -> Any:
    """The value as its kind's class in core/values.py: Histogram, Image, ..., or Raw for an unknown kind.

    `value_bytes` and `field` come from one of the kernel's spans; `metadata_bytes` is the tag's SummaryMetadata, or
    empty. Whatever the bytes are, the only exception is MalformedMessage.
    """
    value = stored_value(value_bytes, tag_metadata=metadata_bytes, field=field, step=step, wall_time=wall_time)
    if field == kinds.METADATA_ONLY and kind != kinds.HPARAMS:
        return _raw(value)
    return _DECODERS.get(kind, _raw)(value)


def _tensor(value: StoredValue) -> Tensor:
    return Tensor(step=value.step, wall_time=value.wall_time, array=value.tensor())


def _raw(value: StoredValue) -> Raw:
    return Raw(
        step=value.step,
        wall_time=value.wall_time,
        plugin=value.metadata.plugin,
        content=value.metadata.content,
        value=value.data,
    )


# To add a kind, add a line here and a file in codecs/.
_DECODERS: dict[str, Callable[[StoredValue], Value | Histogram]] = {
    kinds.SCALAR: _tensor,  # one that the kernel could not read as a number
    kinds.TENSOR: _tensor,
    kinds.HISTOGRAM: decode_histogram,
    kinds.IMAGE: decode_image,
    kinds.AUDIO: decode_audio,
    kinds.TEXT: decode_text,
    kinds.HPARAMS: decode_hparams,
    kinds.PR_CURVE: decode_pr_curve,
    kinds.MESH: decode_mesh,
    kinds.CUSTOM_SCALARS: decode_layout,
    kinds.GRAPH: decode_graph,
    kinds.KERAS_GRAPH: decode_keras_graph,
    kinds.RUN_METADATA: decode_run_metadata,
    kinds.LOG: decode_log_line,
}


# ---------- writing


def encode_tensor(tag: str, *, tensor: bytes) -> bytes:
    """A Summary.Value of an encoded TensorProto, with no further meaning."""
    return value_bytes(tag, field=kinds.TENSOR_FIELD, content=tensor, metadata=metadata_bytes("tensor"))
