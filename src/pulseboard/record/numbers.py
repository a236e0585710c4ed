"""Numbers: what a training loop calls a number, as a float, without making a device wait."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def to_number(value: Any) -> float | None:
    """The number that `value` is. None where it is none, or where only its device knows it yet."""
    if isinstance(value, int | float):  # bool, and subclasses such as NumPy's float64
        return float(value)
    kind = type(value).__module__.partition(".")[0]
    if kind == "torch":
        return float(value.item()) if value.numel() == 1 and value.device.type == "cpu" else None
    if kind in ("jax", "jaxlib"):
        return None  # asking makes the caller wait until the value is computed
    if getattr(value, "size", 1) != 1 or isinstance(value, str | bytes):
        return None
    try:
        return float(value.item() if hasattr(value, "item") else value)
    except (TypeError, ValueError):
        return None


def later(values: dict[str, Any]) -> tuple[dict[str, Callable[[], float]], list[str]]:
    """Values that are on a device, as calls that give the numbers, and the names of those that are none.

    The copies are started here, in the stream that computes them, and do not wait. The calls do, and
    are made by another thread.
    """
    calls: dict[str, Callable[[], float]] = {}
    wrong: list[str] = []
    torch_values: dict[str, Any] = {}
    for name, value in values.items():
        kind = type(value).__module__.partition(".")[0]
        if kind == "torch" and value.numel() == 1:
            torch_values[name] = value
        elif kind in ("jax", "jaxlib") and value.size == 1:
            calls[name] = value.item
        else:
            wrong.append(name)
    if torch_values:
        calls.update(_copied(torch_values))
    return calls, wrong


def _copied(values: dict[str, Any]) -> dict[str, Callable[[], float]]:
    torch: Any = sys.modules["torch"]  # whoever has a tensor has it loaded
    by_device: dict[Any, list[str]] = {}
    for name, value in values.items():
        by_device.setdefault(value.device, []).append(name)
    calls: dict[str, Callable[[], float]] = {}
    for device, names in by_device.items():
        with torch.no_grad():
            # One copy for all of them, rounded to float32 as the event file holds them.
            together = torch.stack([values[name].detach().reshape(()).to(torch.float32) for name in names])
            if device.type == "cuda":
                host = torch.empty(len(names), dtype=torch.float32, pin_memory=True)
                host.copy_(together, non_blocking=True)
                arrived = torch.cuda.Event()
                arrived.record(torch.cuda.current_stream(device))
                wait = arrived.synchronize
            else:  # other devices offer no event; their copy waits, but in the thread that asks
                host, wait = together, lambda: None
        for i, name in enumerate(names):
            calls[name] = _call(host, wait, i)
    return calls


def _call(host: Any, wait: Callable[[], None], i: int) -> Callable[[], float]:
    def number() -> float:
        wait()
        return float(host[i])

    return number
