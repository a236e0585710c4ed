"""Numbers, steps and times as people and programs spell them."""

from __future__ import annotations

import math
import re
from datetime import datetime
from typing import Any

from pulseboard.core.axes import Step, WallTime

MISSING = frozenset({"", "na", "n/a", "none", "null", "-", "nil"})
"""Words for a value that was not logged, in lower case. 'nan' is not one of them: it is a value."""

_NAN_AND_INFINITY = {"nan", "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity", "-nan", "+nan"}
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DECIMAL_COMMA = re.compile(r"([+-]?[0-9]+),([0-9]+(?:[eE][+-]?[0-9]+)?)")


# Units that say what a number is. Others, such as `ms` and `MB`, follow numbers of all kinds.
_LOSS_UNIT = re.compile(
    r" ?(?P<unit>bpd|bpb|bpc|nats|bits(?:/(?:dim|byte|char))?|ppl|perplexity|dB)\s*\)", re.IGNORECASE
)
_RATE_UNIT = re.compile(
    r" ?(?P<unit>(?:tok|tokens|samples|examples|sentences|words|imgs?|images)/s(?:ec)?)\s*(?:[;,|]|$)", re.IGNORECASE
)
_SECS = re.compile(r" ?(?:s|secs?|seconds)\s*(?:[;,|]|$)")


def loss_unit(after: str) -> str:
    """The unit that follows a number in brackets, `(2.006 bpd)`, if it is one of a loss."""
    found = _LOSS_UNIT.match(after)
    return found["unit"] if found else ""


def unit_name(after: str) -> str:
    """A name for a number without one, `; 8704 tok/s; 4 sec`, by the unit after it; empty if that does not name it."""
    if found := _RATE_UNIT.match(after):
        return found["unit"]
    return "time" if _SECS.match(after) else ""


def number(text: str, *, decimal_comma: bool = False) -> float | None:
    """The number in a text; None if it is not a number."""
    text = text.strip()
    if _NUMBER.fullmatch(text) or text.lower() in _NAN_AND_INFINITY:
        return float(text)
    if decimal_comma and (found := _DECIMAL_COMMA.fullmatch(text)):
        return float(f"{found[1]}.{found[2]}")
    return None


def json_number(value: Any) -> float | None:
    """The number in a JSON value, which may be the string 'nan'; None for anything else, such as true and false."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str):
        return float(value) if value.strip().lower() in _NAN_AND_INFINITY else None
    try:
        return float(value)
    except OverflowError:  # a whole number larger than any float
        return math.inf if value > 0 else -math.inf


def step_of(value: float | None) -> Step | None:
    """A number as a step; None for fractions, NaN and what does not fit into 64 bits."""
    if value is None or not math.isfinite(value) or value != math.floor(value) or abs(value) >= 2.0**63:
        return None
    return int(value)


def time_of(text: str) -> WallTime | None:
    """The wall time of an ISO date and time, in local time if it names no zone; None if it is not one."""
    try:
        return datetime.fromisoformat(text.strip().replace("Z", "+00:00").replace(",", ".")).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
