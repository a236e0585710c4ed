"""Numbers: whatever a training loop logs as a number, converted to a float without waiting for a device."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def to_number(value: Any) -> float | None:
    """`value` as a float. None if it is not a number, or if it is still on a device."""
    if isinstance(value, int | float):  # bool, and subclasses such as NumPy's float64
        return float(value)
    kind = type(value).__module__.partition(".")[0]
    if kind == "torch":
        return float(value.item()) if value.numel() == 1 and value.device.type == "cpu" else None
    if kind in ("jax", "jaxlib"):
        return None  # reading it would wait until the value is computed
    if getattr(value, "size", 1) != 1 or isinstance(value, str | bytes):
        return None
    try:
        return float(value.item() if hasattr(value, "item") else value)
    except (TypeError, ValueError):
        return None


def read_from_devices(values: dict[str, Any]) -> tuple[dict[str, Callable[[], float]], list[str]]:
    """For each value on a device a function that returns its number, and the names of values that are not numbers.

    The copies start here, in the stream that computes the values, without waiting. The functions wait, so
    another thread should call them.
    """
    pending: dict[str, Callable[[], float]] = {}
    invalid: list[str] = []
    tensors: dict[str, Any] = {}
    for name, value in values.items():
        kind = type(value).__module__.partition(".")[0]
        if kind == "torch" and value.numel() == 1:
            tensors[name] = value
        elif kind in ("jax", "jaxlib") and value.size == 1:
            pending[name] = value.item
        else:
            invalid.append(name)
    if tensors:
        pending.update(_start_copies(tensors))
    return pending, invalid


def _start_copies(tensors: dict[str, Any]) -> dict[str, Callable[[], float]]:
    torch: Any = sys.modules["torch"]  # imported already, since there are tensors
    names_by_device: dict[Any, list[str]] = {}
    for name, tensor in tensors.items():
        names_by_device.setdefault(tensor.device, []).append(name)
    pending: dict[str, Callable[[], float]] = {}
    for device, names in names_by_device.items():
        with torch.no_grad():
            # One copy for all of them, rounded to float32 as in the event file.
            stacked = torch.stack([tensors[name].detach().reshape(()).to(torch.float32) for name in names])
            if device.type == "cuda":
                host = torch.empty(len(names), dtype=torch.float32, pin_memory=True)
                host.copy_(stacked, non_blocking=True)
                arrived = torch.cuda.Event()
                arrived.record(torch.cuda.current_stream(device))
                wait = arrived.synchronize
            else:  # other devices have no such event; their copy waits, but in the thread that reads the number
                host, wait = stacked, lambda: None
        for i, name in enumerate(names):
            pending[name] = _reader(host, wait, i)
    return pending


def _reader(host: Any, wait: Callable[[], None], i: int) -> Callable[[], float]:
    def read() -> float:
        wait()
        return float(host[i])

    return read
