"""A value as the file stores it, before anyone asks what it means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pulseboard.files.kinds import IN_TENSOR, METADATA_ONLY
from pulseboard.files.tensor import MAX_LAID_OUT, read_strings, read_tensor
from pulseboard.files.wire import BYTES, MalformedMessage, Message, bytes_field, text_field

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

# Fields of Summary.Value beside those that kinds.py numbers.
_TAG, _METADATA, _NODE_NAME = 1, 9, 7


@dataclass(frozen=True, slots=True)
class SummaryMetadata:
    """What a writer says about a tag, mostly once, beside the tag's first value."""

    plugin: str = ""  # empty where none is named
    content: bytes = b""  # the plugin's own
    display_name: str = ""
    description: str = ""  # Markdown


def read_metadata(data: bytes) -> SummaryMetadata:
    """A SummaryMetadata message; no bytes are metadata that says nothing."""
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
    """A value's bytes and what is known about them."""

    data: bytes  # a Summary.Value message; for `what` from 100 on, the content of that field of Event
    what: int  # the value's place, as in kinds.py
    metadata: SummaryMetadata  # the value's own, or else its tag's
    step: int
    wall_time: float

    @property
    def tag(self) -> str:
        """The tag within a Summary.Value."""
        message = Message(self.data)
        return message.text(_TAG) or message.text(_NODE_NAME)

    def content(self) -> Message:
        """The message at the value's place."""
        return Message(self.data).message(self.what)

    def tensor(self) -> NDArray[Any]:
        """The value as an array. It may be one number seen many times: copy it only within reason."""
        return read_tensor(self._tensor_message())

    def tensor_to_copy(self) -> NDArray[Any]:
        """The value as an array that is safe to copy, being no larger than the file accounts for."""
        return read_tensor(self._tensor_message(), max_shared=MAX_LAID_OUT)

    def strings(self) -> tuple[tuple[int, ...], list[bytes]]:
        """(shape, items in row-major order) of a value that must be a tensor of strings."""
        return read_strings(self._tensor_message())

    def first_string(self) -> bytes:
        """The only string of the value, or the first."""
        _, items = self.strings()
        if not items:
            raise MalformedMessage("The tensor of strings is empty", at=0)
        return items[0]

    def _tensor_message(self) -> Message:
        value = Message(self.data)
        if not value.which({IN_TENSOR: BYTES}):
            raise MalformedMessage("The value holds no tensor", at=0)
        return value.message(IN_TENSOR)


def stored_value(data: bytes, *, tag_metadata: bytes, what: int, step: int, wall_time: float) -> StoredValue:
    """The value in `data`, with its tag's metadata where it brings none of its own."""
    own = b"" if what >= 100 else Message(data).blob(_METADATA)
    metadata = read_metadata(own or tag_metadata)
    return StoredValue(data=data, what=what, metadata=metadata, step=step, wall_time=wall_time)


# ---------- writing


def metadata_bytes(plugin: str, *, content: bytes = b"") -> bytes:
    """A SummaryMetadata message that names a plugin, with what the plugin keeps there."""
    named = text_field(1, value=plugin) + (bytes_field(2, value=content) if content else b"")
    return bytes_field(1, value=named)


def value_bytes(tag: str, *, what: int = METADATA_ONLY, content: bytes = b"", metadata: bytes = b"") -> bytes:
    """A Summary.Value message with `content` at the place `what`."""
    about = bytes_field(_METADATA, value=metadata) if metadata else b""
    at_its_place = b"" if what == METADATA_ONLY else bytes_field(what, value=content)
    return text_field(_TAG, value=tag) + about + at_its_place
