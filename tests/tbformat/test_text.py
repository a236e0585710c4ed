"""Text of any shape."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.text import metadata
from tensorboard.plugins.text.summary_v2 import text_pb
from tensorboard.util import tensor_util

from pulseboard.tbformat.wire import MalformedMessage


def test_one_string_is_a_scalar(decode: Callable[..., Any]) -> None:
    got = decode(text_pb("t", "grüße *all*").value[0])
    assert (got.text, got.shape, got.items) == ("grüße *all*", (), ("grüße *all*",))


def test_an_array_keeps_its_shape(decode: Callable[..., Any]) -> None:
    got = decode(text_pb("t", np.array([["a", "b"], ["c", "d"]])).value[0])
    assert (got.shape, got.items, got.text) == ((2, 2), ("a", "b", "c", "d"), "a\n\nb\n\nc\n\nd")


def test_invalid_utf8_is_replaced(decode: Callable[..., Any]) -> None:
    assert decode(text_pb("t", b"a\xffb").value[0]).text == "a\ufffdb"


def test_numbers_under_the_text_plugin_are_malformed(decode: Callable[..., Any]) -> None:
    smd = metadata.create_summary_metadata(None, None)
    with pytest.raises(MalformedMessage, match="Expected strings, not DT_FLOAT"):
        decode(Summary.Value(tag="t", metadata=smd, tensor=tensor_util.make_tensor_proto([1.0])))
