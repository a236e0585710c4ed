"""Images of both forms."""

from collections.abc import Callable
from typing import Any

import pytest
from tensorboard import data_compat
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.image import metadata
from tensorboard.util import tensor_util

from pulseboard.core.values import image_media_type
from pulseboard.tbformat.wire import MalformedMessage

PNG = b"\x89PNG\r\n\x1a\nrest"


def images(items: list[bytes]) -> Summary.Value:
    smd = metadata.create_summary_metadata(None, None)
    return Summary.Value(tag="i", metadata=smd, tensor=tensor_util.make_tensor_proto(items))


def test_the_old_form_and_its_conversion_read_the_same(decode: Callable[..., Any]) -> None:
    old = Summary.Value(tag="i", image=Summary.Image(width=4, height=3, encoded_image_string=PNG))
    for value in (old, data_compat.migrate_value(old)):
        got = decode(value)
        assert (got.width, got.height, got.frames, got.media_type) == (4, 3, (PNG,), "image/png")


def test_all_frames_of_a_step_are_kept(decode: Callable[..., Any]) -> None:
    got = decode(images([b"640", b"480", PNG, b"GIF89a"]))
    assert (got.width, got.height, got.frames) == (640, 480, (PNG, b"GIF89a"))


def test_a_step_without_frames_is_valid(decode: Callable[..., Any]) -> None:
    got = decode(images([b"0", b"0"]))
    assert (got.frames, got.media_type) == ((), "application/octet-stream")


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"GIF87a", "image/gif"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"BM....", "image/bmp"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\0\0\0\0WAVEfmt ", "application/octet-stream"),
        (b"<svg>", "application/octet-stream"),
        (b"", "application/octet-stream"),
    ],
)
def test_an_images_type_is_recognized_from_its_first_bytes(data: bytes, media_type: str) -> None:
    assert image_media_type(data) == media_type


@pytest.mark.parametrize("items", [[b"1"], [b"one", b"2", PNG], [b"-1", b"2"], [b"9" * 5000, b"2"]])
def test_a_size_that_is_not_a_number_is_malformed(decode: Callable[..., Any], items: list[bytes]) -> None:
    with pytest.raises(MalformedMessage, match="width"):
        decode(images(items))
