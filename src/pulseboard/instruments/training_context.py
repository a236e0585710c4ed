"""The training's context: what model, optimizer and scaler say about how the run was set up."""

from __future__ import annotations

from typing import Any


def training_context(
    model: Any, optimizer: Any, *, scaler: Any = None, clip_norm: float | None = None, world_size: int = 1
) -> dict[str, Any]:
    """Plain values for the run's configuration. What is not known is left out."""
    parameters = list(model.parameters())
    known: dict[str, Any] = {
        "parameters": sum(p.numel() for p in parameters),
        "trained_parameters": sum(p.numel() for p in parameters if p.requires_grad),
        "world_size": world_size,
        "amp": bool(scaler is not None and scaler.is_enabled()),
    }
    if clip_norm is not None:
        known["clip_norm"] = float(clip_norm)
    if optimizer is not None:
        known["optimizer"] = type(optimizer).__name__
        groups = optimizer.param_groups
        known["param_groups"] = len(groups)
        for name in ("lr", "momentum", "weight_decay", "eps", "nesterov", "amsgrad"):
            if (value := _plain(groups[0].get(name))) is not None:
                known[name] = value
        # Of groups that differ, as one without decay for biases: the strongest.
        decays = [value for group in groups if (value := _plain(group.get("weight_decay"))) is not None]
        if decays:
            known["weight_decay"] = max(decays)
        betas = groups[0].get("betas")
        if betas is not None:
            known["betas"] = [_plain(beta) for beta in betas]
    return known


def autocast_dtype(torch: Any, device_type: str) -> str | None:
    """The type that autocast computes in at this moment; None where it is off."""
    try:
        on = torch.is_autocast_enabled(device_type)
        return str(torch.get_autocast_dtype(device_type)).removeprefix("torch.") if on else None
    except (TypeError, AttributeError, RuntimeError):  # before torch 2.4 it took no device
        return None


def _plain(value: Any) -> Any:
    """A number or a truth value as Python has it; a tensor's is fetched."""
    if hasattr(value, "item"):
        value = value.item()
    return value if isinstance(value, bool | int | float) else None
