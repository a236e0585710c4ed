"""NaN and infinities in JSON."""

import json
import math
from typing import Any

import numpy as np
import pytest

from pulseboard.core.json_numbers import decode_number, encode_number, encode_numbers


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(1.5, 1.5), (math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf"), (np.float64("nan"), "nan")],
)
def test_numbers_that_json_lacks_are_spelled(value, encoded):
    assert encode_number(value) == encoded


def test_every_number_of_a_nested_value_is_encoded():
    value = {"a": [1, math.inf, {"b": (math.nan, None, True, "x")}], 3: -math.inf}
    assert encode_numbers(value) == {"a": [1, "inf", {"b": ["nan", None, True, "x"]}], "3": "-inf"}


def test_other_types_are_left_alone_or_converted():
    assert encode_numbers([1j]) == [1j]
    encoded = encode_numbers({"x": np.float32("inf"), "n": np.int64(3)}, default=lambda value: value.item())
    assert json.dumps(encoded, allow_nan=False) == '{"x": "inf", "n": 3}'


@pytest.mark.parametrize(
    ("value", "number"),
    [(1, 1.0), (0.5, 0.5), ("inf", math.inf), ("-inf", -math.inf), ("1", None), (None, None), (True, None)],
)
def test_a_number_is_decoded_as_it_was_encoded(value: Any, number: float | None) -> None:
    assert decode_number(value) == number


def test_nan_is_decoded_as_it_was_encoded() -> None:
    assert math.isnan(decode_number("nan") or 0)


def test_an_integer_too_large_for_a_float_is_infinite() -> None:
    assert decode_number(10**400) == math.inf
    assert decode_number(-(10**400)) == -math.inf
