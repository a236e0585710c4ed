"""Audio: samples as a WAV file."""

from __future__ import annotations

import io
import wave
from typing import Any, NamedTuple

from pulseboard.record.arrays import as_array
from pulseboard.record.messages import warn_once

_MAX_SAMPLE = (1 << 15) - 1


class Wav(NamedTuple):
    """A WAV file with one channel."""

    data: bytes
    frames: int


def encode_wav(samples: Any, *, sample_rate: int) -> Wav:
    """Samples between -1 and 1 as 16-bit audio. They must have one dimension; others of size 1 are ignored."""
    import numpy as np

    audio = as_array(samples).squeeze()
    if audio.ndim != 1:
        raise AssertionError(f"Audio must have one dimension; this has shape {audio.shape}.")
    if not np.all(np.abs(audio) <= 1):
        warn_once("audio", "Audio outside -1 to 1 was clipped, and NaN replaced by silence.")
        audio = np.nan_to_num(audio, nan=0.0).clip(-1, 1)
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes((audio * _MAX_SAMPLE).astype("<i2").tobytes())
    return Wav(out.getvalue(), len(audio))
