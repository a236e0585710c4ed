"""Numbers: whatever a training loop logs as a number, converted to a float without waiting for a device."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any


def to_number(value: Any) -> float | None:
    """`value` as a float. None if it is not a number, or if it is still on a device. Never raises."""
    try:
        return _to_number(value)
    except Exception:  # a value's own code, such as its __float__, may raise anything
        return None


def _to_number(value: Any) -> float | None:
    if isinstance(value, int | float):  # bool, and subclasses such as NumPy's float64
        return float(value)
    kind = type(value).__module__.partition(".")[0]
    if kind == "torch":
        if value.numel() != 1 or value.device.type != "cpu" or _is_partial(value):
            return None
        return float(value.item())
    if kind in ("jax", "jaxlib"):
        return None  # reading it would wait until the value is computed
    if getattr(value, "size", 1) != 1 or isinstance(value, str | bytes):
        return None
    return float(value.item() if hasattr(value, "item") else value)


def _is_partial(tensor: Any) -> bool:
    """Whether other ranks hold parts of this DTensor. Reading it is a collective call, which would wait for them."""
    return hasattr(tensor, "placements") and not all(placement.is_replicate() for placement in tensor.placements)


def why_not_a_number(value: Any) -> str:
    """Why `to_number` returns None for a value that is not on a device, in words."""
    kind = type(value).__name__
    if hasattr(value, "placements"):
        return "other ranks hold parts of this tensor. Log `tensor.full_tensor()`, computed on every rank"
    if isinstance(value, int):
        return "this whole number is too large for a float"
    if getattr(value, "size", None) == 1 or (hasattr(value, "__float__") and not getattr(value, "shape", ())):
        return f"a {kind} that is not a real number, or whose conversion to a float fails"
    shape = f" of {tuple(value.shape)}" if hasattr(value, "shape") else ""
    return f"a {kind}{shape} is not a single number. For many numbers, use run.histogram()"


def checked_step(step: Any) -> int:
    """A step as an int: from any whole number, NumPy's and torch's too. Raises ValueError."""
    try:
        return operator.index(step)
    except TypeError:
        number = None if isinstance(step, str | bytes) else to_number(step)
        if number is None or not number.is_integer():
            raise ValueError(f"a step must be a whole number, not {step!r}") from None
        return int(number)


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
        if kind == "torch" and value.numel() == 1 and not value.is_complex() and not _is_partial(value):
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
            # One copy for all of them. float32, unless one of them may hold more; Apple's GPUs have no float64.
            wide = device.type != "mps" and any(tensors[name].dtype in (torch.float64, torch.int64) for name in names)
            dtype = torch.float64 if wide else torch.float32
            stacked = torch.stack([tensors[name].detach().reshape(()).to(dtype) for name in names])
            if device.type == "cuda":
                host = torch.empty(len(names), dtype=dtype, pin_memory=True)
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
