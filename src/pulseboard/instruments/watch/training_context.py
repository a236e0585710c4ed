"""The training context: how the run is set up, read from the model, the optimizer and the scaler."""

from __future__ import annotations

import contextlib
from typing import Any


def training_context(
    model: Any, optimizer: Any, *, scaler: Any = None, clip_norm: float | None = None, world_size: int = 1
) -> dict[str, Any]:
    """Plain values for the run's configuration. Unknown ones are left out."""
    parameters = list(model.parameters())
    context: dict[str, Any] = {
        "world_size": world_size,
        "amp": bool(scaler is not None and scaler.is_enabled()),
    }
    with contextlib.suppress(RuntimeError, ValueError):  # lazy modules have no size before their first batch
        context |= {
            "parameters": sum(p.numel() for p in parameters),
            "trained_parameters": sum(p.numel() for p in parameters if p.requires_grad),
        }
    if clip_norm is not None:
        context["clip_norm"] = float(clip_norm)
    if optimizer is not None and optimizer.param_groups:
        context["optimizer"] = type(optimizer).__name__
        groups = optimizer.param_groups
        context["param_groups"] = len(groups)
        for name in ("lr", "momentum", "weight_decay", "eps", "nesterov", "amsgrad"):
            if (value := _plain(groups[0].get(name))) is not None:
                context[name] = value
        # The strongest decay of all groups: biases often have a group without any.
        decays = [value for group in groups if (value := _plain(group.get("weight_decay"))) is not None]
        if decays:
            context["weight_decay"] = max(decays)
        betas = groups[0].get("betas")
        if betas is not None:
            context["betas"] = [_plain(beta) for beta in betas]
    return context


def autocast_dtype(torch: Any, device_type: str) -> str | None:
    """The dtype that autocast computes in now; None if it is off."""
    try:
        on = torch.is_autocast_enabled(device_type)
        return str(torch.get_autocast_dtype(device_type)).removeprefix("torch.") if on else None
    except (TypeError, AttributeError, RuntimeError):  # before torch 2.4 it took no device
        return None


def _plain(value: Any) -> Any:
    """A number or boolean as a Python value, fetched from a tensor if needed; None for anything else."""
    if hasattr(value, "item"):
        value = value.item()
    return value if isinstance(value, bool | int | float) else None
