"""Sound: samples as a WAV file."""

from __future__ import annotations

import io
import wave
from typing import Any, NamedTuple

from pulseboard.record.arrays import as_array
from pulseboard.record.report import say_once

_LOUDEST = (1 << 15) - 1


class Wav(NamedTuple):
    """A WAV file of one channel."""

    data: bytes
    frames: int


def encode_wav(samples: Any, *, sample_rate: int) -> Wav:
    """Samples between -1 and 1, in one dimension (others of size 1 do not count), as 16-bit sound."""
    import numpy as np

    sound = as_array(samples).squeeze()
    if sound.ndim != 1:
        raise AssertionError(f"Sound should have one dimension; this one has the shape {sound.shape}.")
    if not np.all(np.abs(sound) <= 1):
        say_once("sound", "Sound beyond -1 to 1 was clipped, and NaN made silent.")
        sound = np.nan_to_num(sound, nan=0.0).clip(-1, 1)
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes((sound * _LOUDEST).astype("<i2").tobytes())
    return Wav(out.getvalue(), len(sound))
