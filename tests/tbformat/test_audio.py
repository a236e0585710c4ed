"""Audio of both forms."""

import io
import wave
from collections.abc import Callable
from typing import Any

import pytest
from tensorboard import data_compat
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.audio import metadata
from tensorboard.util import tensor_util

from pulseboard.core.values import AudioClip, audio_media_type


def wav(sample_rate: int) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes(b"\0\0" * 8)
    return out.getvalue()


def clips(items: Any, *, encoding: int = metadata.Encoding.Value("WAV")) -> Summary.Value:
    smd = metadata.create_summary_metadata(None, None, encoding=encoding)
    return Summary.Value(tag="a", metadata=smd, tensor=tensor_util.make_tensor_proto(items))


def test_the_old_form_has_its_sample_rate_and_type(decode: Callable[..., Any]) -> None:
    old = Summary.Audio(sample_rate=44100, encoded_audio_string=wav(44100), content_type="audio/wav")
    got = decode(Summary.Value(tag="a", audio=old))
    assert got.clips == (AudioClip(data=wav(44100), media_type="audio/wav", label="", sample_rate=44100.0),)
    assert decode(data_compat.migrate_value(Summary.Value(tag="a", audio=old))).clips == got.clips


def test_clips_come_with_their_labels(decode: Callable[..., Any]) -> None:
    got = decode(clips([[wav(8000), b"first"], [wav(16000), b"sec\xffond"]]))
    assert [(c.data, c.label, c.sample_rate) for c in got.clips] == [
        (wav(8000), "first", 8000.0),
        (wav(16000), "sec\ufffdond", 16000.0),
    ]


def test_clips_can_come_without_labels(decode: Callable[..., Any]) -> None:
    got = decode(clips([wav(8000), b"OggS..", b"?"]))
    assert [c.media_type for c in got.clips] == ["audio/wav", "audio/ogg", "audio/wav"]
    assert [c.label for c in got.clips] == ["", "", ""]
    assert got.clips[2].sample_rate is None


def test_an_unknown_encoding_is_not_called_wav(decode: Callable[..., Any]) -> None:
    (clip,) = decode(clips([b"?"], encoding=0)).clips
    assert clip.media_type == "application/octet-stream"


def test_an_empty_list_of_clips_is_valid(decode: Callable[..., Any]) -> None:
    value = clips([b"x"])
    value.tensor.ClearField("string_val")
    value.tensor.tensor_shape.dim[0].size = 0
    assert decode(value).clips == ()


@pytest.mark.parametrize("declared", ["text/html", "audio/x\r\nSet-Cookie: a", "", "audio/"])
def test_a_file_cannot_choose_a_type_other_than_audio(decode: Callable[..., Any], declared: str) -> None:
    old = Summary.Audio(encoded_audio_string=b"<script>", content_type=declared)
    assert decode(Summary.Value(tag="a", audio=old)).clips[0].media_type == "application/octet-stream"


@pytest.mark.parametrize(
    ("data", "media_type"),
    [(wav(8000), "audio/wav"), (b"fLaC", "audio/flac"), (b"ID3\4", "audio/mpeg"), (b"", "application/octet-stream")],
)
def test_a_clips_type_is_recognized_from_its_first_bytes(data: bytes, media_type: str) -> None:
    assert audio_media_type(data) == media_type
