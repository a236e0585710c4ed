"""Allocator: memory by owner: weights, gradients, optimizer, activations, adapters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.registry import instrument
from pulseboard.record.arrays import is_tensor
from pulseboard.record.telemetry.sources.torch_memory import torch_with_cuda

MIB = 1 << 20
KINDS = ("device", "managed", "pinned", "pageable")


@instrument(
    id="allocator",
    every=500,
    metrics={
        "allocator/weights_mib": Metric("MiB", "device memory of parameters and buffers", "fixed"),
        "allocator/gradients_mib": Metric("MiB", "device memory of gradients", "fixed, or 0 if set to None"),
        "allocator/optimizer_mib": Metric(
            "MiB", "device memory of the optimizer's state", "fixed after the first step"
        ),
        "allocator/activations_mib": Metric(
            "MiB", "device memory of all other tensors, mostly activations", "steady; endless growth is a leak"
        ),
        "allocator/lora_mib": Metric("MiB", "device memory of LoRA adapters", "fixed, and far below the weights"),
        "allocator/qlora_mib": Metric("MiB", "device memory of quantized weights and their scales", "fixed"),
    },
)
def allocator(model: Any, optimizer: Any = None) -> dict[str, Any]:
    """Device memory by owner. Owners without memory, such as LoRA in a model without adapters, are left out."""
    return {f"allocator/{name}_mib": memory["device"] / MIB for name, memory in segments(model, optimizer).items()}


def segments(model: Any, optimizer: Any = None) -> dict[str, dict[str, int]]:
    """Bytes by owner and kind of memory, in the form that `TrainingRunLogger.log_allocator` accepts.

    Memory shared by two tensors counts once, for the first of: qlora, lora, weights, gradients, optimizer.
    Activations are everything else that CUDA's allocator holds for tensors.
    """
    found: dict[str, dict[str, int]] = {name: dict.fromkeys(KINDS, 0) for name in ("weights", "gradients", "optimizer")}
    seen: set[Any] = set()
    for owner, tensor in _owned(model, optimizer):
        size_bytes, key = _storage(tensor)
        if key in seen:
            continue
        seen.add(key)
        found.setdefault(owner, dict.fromkeys(KINDS, 0))[_kind(tensor)] += size_bytes
    torch = torch_with_cuda()
    if torch is not None:
        used = sum(torch.cuda.memory_allocated(gpu) for gpu in range(torch.cuda.device_count()))
        rest = used - sum(memory["device"] for memory in found.values())
        found["activations"] = {**dict.fromkeys(KINDS, 0), "device": max(rest, 0)}
    return found


def _owned(model: Any, optimizer: Any) -> Iterator[tuple[str, Any]]:
    weights = [*model.named_parameters(), *model.named_buffers()]
    by_owner = [(_owner(name, tensor), tensor) for name, tensor in weights]
    for owner in ("qlora", "lora", "weights"):
        for tensor_owner, tensor in by_owner:
            if tensor_owner == owner:
                yield owner, tensor
                # bitsandbytes keeps the scales of a quantized weight in its `quant_state`.
                for scale in _tensors(getattr(getattr(tensor, "quant_state", None), "__dict__", {})):
                    yield owner, scale
    for _, tensor in weights:
        if getattr(tensor, "grad", None) is not None:
            yield "gradients", tensor.grad
    for state in getattr(optimizer, "state", {}).values():
        for tensor in _tensors(state):
            yield "optimizer", tensor


def _owner(name: str, tensor: Any) -> str:
    if any(part.startswith("lora_") for part in name.split(".")):
        return "lora"
    quantized = hasattr(tensor, "quant_state") or type(tensor).__name__ in ("Params4bit", "Int8Params")
    return "qlora" if quantized else "weights"


def _tensors(value: Any, *, max_depth: int = 4) -> Iterator[Any]:
    """The tensors in nested mappings and lists."""
    if is_tensor(value):
        yield value
    elif max_depth and isinstance(value, Mapping | list | tuple):
        items: Iterable[Any] = value.values() if isinstance(value, Mapping) else value
        for item in items:
            yield from _tensors(item, max_depth=max_depth - 1)


def _storage(tensor: Any) -> tuple[int, Any]:
    """The size of a tensor's memory in bytes, and a key that is equal for all tensors that share it."""
    local: Callable[[], Any] | None = getattr(tensor, "to_local", None)  # this rank's part of a DTensor
    tensor = local() if local is not None else tensor
    try:
        storage = tensor.untyped_storage()
        return int(storage.nbytes()), (str(tensor.device), storage.data_ptr() or id(tensor))
    except (NotImplementedError, RuntimeError):  # some tensor subclasses have no storage of their own
        return tensor.numel() * tensor.element_size(), id(tensor)


def _kind(tensor: Any) -> str:
    if tensor.device.type not in ("cpu", "meta"):
        return "device"
    # Only CUDA pins memory, and is_pinned() would initialize it.
    return "pinned" if torch_with_cuda() is not None and tensor.is_pinned() else "pageable"
