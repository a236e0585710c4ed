"""Summaries: a stored value and its metadata in, the word for its kind out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pulseboard.core.values import Raw, Tensor, Value
from pulseboard.files import kinds
from pulseboard.files.audio import decode_audio
from pulseboard.files.custom_scalars import decode_layout
from pulseboard.files.graph import decode_graph, decode_keras_graph
from pulseboard.files.histogram import decode_histogram
from pulseboard.files.hparams import decode_hparams
from pulseboard.files.image import decode_image
from pulseboard.files.log_line import decode_log_line
from pulseboard.files.mesh import decode_mesh
from pulseboard.files.pr_curve import decode_pr_curve
from pulseboard.files.run_metadata import decode_run_metadata
from pulseboard.files.stored import StoredValue, metadata_bytes, stored_value, value_bytes
from pulseboard.files.text import decode_text


def decode_value(
    kind: str, value_bytes: bytes, metadata_bytes: bytes, *, step: int, wall_time: float, what: int
) -> Any:
    """The value as its kind's class in core/values.py: Histogram, Image, ... or Raw for an unknown kind.

    `value_bytes` is a span of the kernel and `what` that span's; `metadata_bytes` is the tag's
    SummaryMetadata, or empty. Raises MalformedMessage, and nothing else, whatever the bytes are.
    """
    value = stored_value(value_bytes, tag_metadata=metadata_bytes, what=what, step=step, wall_time=wall_time)
    if what == kinds.METADATA_ONLY and kind != kinds.HPARAMS:
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


# A new kind is a line here and a file beside this one.
_DECODERS: dict[str, Callable[[StoredValue], Value]] = {
    kinds.SCALAR: _tensor,  # one that the kernel could not take for a number
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
    """A Summary.Value of a TensorProto that is encoded already, to be taken for nothing else."""
    return value_bytes(tag, what=kinds.IN_TENSOR, content=tensor, metadata=metadata_bytes("tensor"))
