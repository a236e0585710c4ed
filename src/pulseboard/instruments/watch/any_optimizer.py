"""AnyOptimizer: takes the place of an optimizer that the caller of `watch` does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class AnyOptimizer:
    """Represents every torch optimizer of the process that trains parameters of `model`."""

    def __init__(self, model: Any) -> None:
        self._parameters = {id(p) for p in model.parameters()}
        self._optimizer_step_pre_hooks: dict[int, Any] = {}  # torch's name: what makes it an optimizer for `watch`
        self.param_groups: list[Any] = []  # known when one of them has stepped

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> Any:
        """Call `hook` before a step of any of these optimizers."""
        from torch.optim.optimizer import register_optimizer_step_pre_hook

        return register_optimizer_step_pre_hook(self._of_model(hook))

    def register_step_post_hook(self, hook: Callable[..., Any]) -> Any:
        """Call `hook` after a step of any of these optimizers."""
        from torch.optim.optimizer import register_optimizer_step_post_hook

        return register_optimizer_step_post_hook(self._of_model(hook))

    def _of_model(self, hook: Callable[..., Any]) -> Callable[..., Any]:
        trains: dict[int, bool] = {}  # by optimizer

        def filtered(optimizer: Any, args: Any, kwargs: Any) -> Any:
            if id(optimizer) not in trains:
                parameters = (p for group in optimizer.param_groups for p in group["params"])
                trains[id(optimizer)] = any(id(p) in self._parameters for p in parameters)
            return hook(optimizer, args, kwargs) if trains[id(optimizer)] else None

        return filtered
