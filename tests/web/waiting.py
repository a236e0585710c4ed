"""Waiting for a page under its own policy, which forbids the evaluation of strings that wait_for_function does."""

from __future__ import annotations

import time
from typing import Any


def until(page: Any, expression: str, arg: Any = None, *, secs: float = 20.0) -> Any:
    """The value of an expression once it is true. Time-outs name the expression."""
    end = time.monotonic() + secs
    while not (value := page.evaluate(expression, arg)):
        assert time.monotonic() < end, f"waited in vain for {expression}"
        page.wait_for_timeout(50)
    return value
