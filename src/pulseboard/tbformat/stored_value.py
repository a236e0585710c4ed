"""A value as stored in the file, before it is decoded by kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pulseboard.tbformat.kinds import METADATA_ONLY, TENSOR_FIELD
from pulseboard.tbformat.tensor import MAX_ALLOCATED, read_strings, read_tensor
from pulseboard.tbformat.wire import BYTES, MalformedMessage, Message, bytes_field, text_field

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

# Fields of Summary.Value, in addition to those in kinds.py.
_TAG, _METADATA, _NODE_NAME = 1, 9, 7


@dataclass(frozen=True, slots=True)
class SummaryMetadata:
    """A tag's metadata. Writers usually store it once, with the tag's first value."""

    plugin: str = ""  # empty if none is named
    content: bytes = b""  # the plugin's own data
    display_name: str = ""
    description: str = ""  # Markdown


def read_metadata(data: bytes) -> SummaryMetadata:
    """Decode a SummaryMetadata message; empty bytes give empty metadata."""
    message = Message(data)
    plugin = message.message(1)
    return SummaryMetadata(
        plugin=plugin.text(1),
        content=plugin.blob(2),
        display_name=message.text(2),
        description=message.text(3),
    )


@dataclass(frozen=True, slots=True)
class StoredValue:
    """A value's bytes, with its metadata, step and wall time."""

    data: bytes  # a Summary.Value message; if `field` is 100 or more, the content of that field of Event
    field: int  # the field that holds the value, as in kinds.py
    metadata: SummaryMetadata  # the value's own, or else its tag's
    step: int
    wall_time: float

    @property
    def tag(self) -> str:
        """The tag in the Summary.Value."""
        message = Message(self.data)
        return message.text(_TAG) or message.text(_NODE_NAME)

    def content(self) -> Message:
        """The message in the value's field."""
        return Message(self.data).message(self.field)

    def tensor(self) -> NDArray[Any]:
        """The value as an array. It may be one number broadcast to a large shape, so do not copy it blindly."""
        return read_tensor(self._tensor_message())

    def tensor_to_copy(self) -> NDArray[Any]:
        """The value as an array that is safe to copy: its size is in proportion to the bytes in the file."""
        return read_tensor(self._tensor_message(), max_broadcast=MAX_ALLOCATED)

    def strings(self) -> tuple[tuple[int, ...], list[bytes]]:
        """(shape, items in row-major order). The value must be a tensor of strings."""
        return read_strings(self._tensor_message())

    def first_string(self) -> bytes:
        """The value's first string."""
        _, items = self.strings()
        if not items:
            raise MalformedMessage("The tensor of strings is empty", at=0)
        return items[0]

    def _tensor_message(self) -> Message:
        value = Message(self.data)
        if not value.which({TENSOR_FIELD: BYTES}):
            raise MalformedMessage("The value has no tensor", at=0)
        return value.message(TENSOR_FIELD)


def stored_value(data: bytes, *, tag_metadata: bytes, field: int, step: int, wall_time: float) -> StoredValue:
    """The value in `data`, with its own metadata if it has any, or else its tag's."""
    own = b"" if field >= 100 else Message(data).blob(_METADATA)
    metadata = read_metadata(own or tag_metadata)
    return StoredValue(data=data, field=field, metadata=metadata, step=step, wall_time=wall_time)


# ---------- writing


def metadata_bytes(plugin: str, *, content: bytes = b"") -> bytes:
    """A SummaryMetadata message that names a plugin and holds its data."""
    named = text_field(1, value=plugin) + (bytes_field(2, value=content) if content else b"")
    return bytes_field(1, value=named)


def value_bytes(tag: str, *, field: int = METADATA_ONLY, content: bytes = b"", metadata: bytes = b"") -> bytes:
    """A Summary.Value message with `content` in `field`."""
    metadata_part = bytes_field(_METADATA, value=metadata) if metadata else b""
    content_part = b"" if field == METADATA_ONLY else bytes_field(field, value=content)
    return text_field(_TAG, value=tag) + metadata_part + content_part
