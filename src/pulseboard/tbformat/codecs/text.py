"""Text: a tensor of strings."""

from __future__ import annotations

from pulseboard.core.values import Text
from pulseboard.tbformat.kinds import TENSOR_FIELD
from pulseboard.tbformat.stored_value import StoredValue, metadata_bytes, value_bytes
from pulseboard.tbformat.tensor import string_tensor_bytes


def decode_text(value: StoredValue) -> Text:
    """Decode one string or an array of them; invalid UTF-8 is replaced."""
    shape, items = value.strings()
    texts = tuple(item.decode("utf-8", "replace") for item in items)
    return Text(step=value.step, wall_time=value.wall_time, shape=shape, items=texts)


# ---------- writing


def encode_text(tag: str, *, text: str) -> bytes:
    """A Summary.Value of one Markdown string. (torch's writer adds '/text_summary' to the tag; this does not.)"""
    # Half a surrogate pair, as in broken file names, cannot be encoded as UTF-8: it becomes a question mark.
    tensor = string_tensor_bytes([text.encode("utf-8", "replace")])
    return value_bytes(tag, field=TENSOR_FIELD, content=tensor, metadata=metadata_bytes("text"))
