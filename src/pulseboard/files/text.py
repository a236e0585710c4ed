"""Text: a tensor of strings."""

from __future__ import annotations

from pulseboard.core.values import Text
from pulseboard.files.stored import StoredValue


def decode_text(value: StoredValue) -> Text:
    """One string or an array of them; what is no UTF-8 is replaced."""
    shape, items = value.strings()
    texts = tuple(item.decode("utf-8", "replace") for item in items)
    return Text(step=value.step, wall_time=value.wall_time, shape=shape, items=texts)
