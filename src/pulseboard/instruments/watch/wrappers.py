"""Wrappers of frameworks: the torch optimizer and the model class inside of them."""

from __future__ import annotations

import re
from typing import Any


def unwrapped_optimizer(optimizer: Any) -> Any:
    """The optimizer that takes the steps: accelerate, Lightning and DeepSpeed wrap it. Raises ValueError."""
    unwrapped, seen = optimizer, []
    while unwrapped is not None and "_optimizer_step_pre_hooks" not in vars(unwrapped):
        seen.append(unwrapped)
        inner = vars(unwrapped).get("optimizer", vars(unwrapped).get("_optimizer"))
        unwrapped = None if any(inner is each for each in seen) else inner
    if unwrapped is None:
        raise ValueError(
            f"watch() needs a torch optimizer, or a wrapper with one in its attribute `optimizer`; "
            f"{type(optimizer).__name__} has none."
        )
    return unwrapped


def class_name(model: Any) -> str:
    """The name of the model's class without wrappers such as DDP, in lower case: `GPT2Model` is gpt2_model."""
    while (inner := getattr(model, "_orig_mod", None) or getattr(model, "module", None)) is not None:
        model = inner
    words = re.findall(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+", type(model).__name__)
    return "_".join(words).lower() or "model"
