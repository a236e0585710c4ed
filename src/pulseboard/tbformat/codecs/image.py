"""Images: the old message of one image, and the tensor of width, height and any number of frames."""

from __future__ import annotations

from pulseboard.core.values import Image
from pulseboard.tbformat.kinds import TENSOR_FIELD
from pulseboard.tbformat.stored_value import StoredValue, value_bytes
from pulseboard.tbformat.wire import MalformedMessage, bytes_field, varint_field

_IMAGE_FIELD = 4


def decode_image(value: StoredValue) -> Image:
    """Decode an image of either form."""
    if value.field == TENSOR_FIELD:
        return _from_tensor(value)
    message = value.content()
    return Image(
        step=value.step,
        wall_time=value.wall_time,
        height=message.integer(1),
        width=message.integer(2),
        frames=(message.blob(4),),
    )


def _from_tensor(value: StoredValue) -> Image:
    _, items = value.strings()
    if len(items) < 2:
        raise MalformedMessage(f"An image needs a width and a height, but has {len(items)} strings", at=0)
    return Image(
        step=value.step,
        wall_time=value.wall_time,
        width=_pixels(items[0]),
        height=_pixels(items[1]),
        frames=tuple(items[2:]),
    )


def _pixels(digits: bytes) -> int:
    if not digits.isdigit() or len(digits) > 10:
        raise MalformedMessage(f"Expected a number for an image's width or height, not {digits[:20]!r}", at=0)
    return int(digits)


# ---------- writing


def encode_image(tag: str, *, width: int, height: int, channels: int, data: bytes) -> bytes:
    """A Summary.Value of one image in the old form. `data` is an encoded image, such as PNG or GIF; 1 to 4 channels."""
    message = (
        varint_field(1, value=height)
        + varint_field(2, value=width)
        + varint_field(3, value=channels)
        + bytes_field(4, value=data)
    )
    return value_bytes(tag, field=_IMAGE_FIELD, content=message)
