"""Audio: the old message of one clip, and the tensor of clips with or without labels."""

from __future__ import annotations

import re
import struct

from pulseboard.core.values import UNKNOWN_MEDIA_TYPE, Audio, AudioClip, audio_media_type
from pulseboard.tbformat.kinds import TENSOR_FIELD
from pulseboard.tbformat.stored_value import StoredValue, value_bytes
from pulseboard.tbformat.wire import Message, bytes_field, float_field, text_field, varint_field

_AUDIO_FIELD = 6
_WAV = 11  # the only known value of AudioPluginData.Encoding


def decode_audio(value: StoredValue) -> Audio:
    """Decode clips of either form."""
    clips = _from_tensor(value) if value.field == TENSOR_FIELD else (_from_message(value.content()),)
    return Audio(step=value.step, wall_time=value.wall_time, clips=clips)


def _from_message(message: Message) -> AudioClip:
    data, declared = message.blob(4), message.text(5)
    # Only audio types: the server sends this as a header, and the file must not be able to choose 'text/html'.
    media_type = declared if re.fullmatch(r"audio/[\w.+-]{1,60}", declared, re.ASCII) else audio_media_type(data)
    return AudioClip(
        data=data, media_type=media_type, label="", sample_rate=message.single(1) or _wav_sample_rate(data)
    )


def _from_tensor(value: StoredValue) -> tuple[AudioClip, ...]:
    shape, items = value.strings()
    # With one axis, each item is a clip. With more, the first axis is clips, and each has its data and then its label.
    each = max(len(items) // shape[0], 1) if len(shape) > 1 and shape[0] else 1
    encoding = Message(value.metadata.content).integer(2) if value.metadata.plugin == "audio" else 0
    clips = []
    for first in range(0, len(items), each):
        data = items[first]
        media_type = audio_media_type(data)
        if media_type == UNKNOWN_MEDIA_TYPE and encoding == _WAV:
            media_type = "audio/wav"
        label = items[first + 1].decode("utf-8", "replace") if each > 1 else ""
        clips.append(AudioClip(data=data, media_type=media_type, label=label, sample_rate=_wav_sample_rate(data)))
    return tuple(clips)


def _wav_sample_rate(data: bytes) -> float | None:
    """The sample rate from the format chunk, if that comes first, as with nearly every writer."""
    if len(data) < 28 or data[8:16] != b"WAVEfmt ":
        return None
    return float(struct.unpack_from("<I", data, 24)[0])


# ---------- writing


def encode_audio(
    tag: str, *, data: bytes, sample_rate: float, frames: int, channels: int = 1, media_type: str = "audio/wav"
) -> bytes:
    """A Summary.Value of one clip in the old form. `frames` is the number of samples per channel."""
    message = (
        float_field(1, value=sample_rate)
        + varint_field(2, value=channels)
        + varint_field(3, value=frames)
        + bytes_field(4, value=data)
        + text_field(5, value=media_type)
    )
    return value_bytes(tag, field=_AUDIO_FIELD, content=message)
