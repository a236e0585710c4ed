"""NaN and infinities in JSON, which has no such numbers: we write the strings "nan", "inf" and "-inf"."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

_SPELLINGS = ("nan", "inf", "-inf")


def encode_number(value: float) -> float | str:
    """The number itself if it is finite, otherwise its spelling."""
    if math.isfinite(value):
        return value
    return "nan" if value != value else "inf" if value > 0 else "-inf"


def encode_numbers(value: Any, *, default: Callable[[Any], Any] | None = None) -> Any:
    """A nested value with every float in it encoded, every mapping a dict with string keys, every tuple a list.

    `default` converts values of types that JSON lacks; without it they are left as they are.
    """
    if isinstance(value, float):
        return encode_number(value)
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Mapping):
        return {str(key): encode_numbers(item, default=default) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode_numbers(item, default=default) for item in value]
    return value if default is None else encode_numbers(default(value), default=default)


def decode_number(value: Any) -> float | None:
    """The number that a JSON value stands for, including spelled ones; None if it is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and value not in _SPELLINGS:
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if int(value) > 0 else -math.inf
