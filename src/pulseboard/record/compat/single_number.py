"""One number, as users pass it to a SummaryWriter."""

from __future__ import annotations

from typing import Any

from pulseboard.record.arrays import as_array
from pulseboard.record.numbers import to_number


def single_number(value: Any) -> float:
    """`value` as a float. Waits for a tensor on a device."""
    number = to_number(value)
    if number is not None:
        return number
    array = as_array(value).squeeze()
    if array.ndim:
        refused = NotImplementedError if isinstance(value, list | tuple) else AssertionError  # as torch does
        raise refused(f"A scalar must be one number; this {type(value).__name__} has shape {array.shape}.")
    return float(array)
