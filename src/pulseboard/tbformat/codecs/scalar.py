"""Scalars in each form that writers use. The kernel writes the first form itself, and reads all of them."""

from __future__ import annotations

from typing import Literal

from pulseboard.tbformat.kinds import TENSOR_FIELD
from pulseboard.tbformat.stored_value import metadata_bytes, value_bytes
from pulseboard.tbformat.wire import float_field, packed_doubles_field, packed_floats_field, text_field, varint_field

Form = Literal["simple", "float_tensor", "double_tensor"]


def encode_scalar_value(tag: str, *, value: float, form: Form = "simple") -> bytes:
    """A Summary.Value of one number: in the old form, or as a tensor of one float or double."""
    if form == "simple":
        return text_field(1, value=tag) + float_field(2, value=value)
    if form == "double_tensor":
        tensor = varint_field(1, value=2) + packed_doubles_field(6, values=(value,))
    else:
        tensor = varint_field(1, value=1) + packed_floats_field(5, values=(value,))
    return value_bytes(tag, field=TENSOR_FIELD, content=tensor, metadata=metadata_bytes("scalars"))
