"""A Keras optimizer of the torch backend, as `watch` sees a torch optimizer: with parameters and hooks around steps."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable
from typing import Any

Hook = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]


class KerasOptimizer:
    """Represents one Keras optimizer after its first step."""

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = weakref.ref(optimizer)
        self._optimizer_step_pre_hooks: dict[int, Hook] = {}  # torch's name: what makes it an optimizer for `watch`
        self._post_hooks: dict[int, Hook] = {}
        self.state: dict[Any, Any] = {}
        self.defaults: dict[str, Any] = {}
        self.param_groups: list[dict[str, Any]] = [{"params": _parameters(optimizer), "lr": _rate(optimizer)}]

    def register_step_pre_hook(self, hook: Hook) -> Any:
        """Call `hook` before each step."""
        return _Handle(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Hook) -> Any:
        """Call `hook` after each step."""
        return _Handle(self._post_hooks, hook)

    def before(self) -> None:
        """A step begins."""
        if (optimizer := self._optimizer()) is not None:
            self.param_groups[0]["lr"] = _rate(optimizer)
        self._call(self._optimizer_step_pre_hooks)

    def after(self) -> None:
        """A step has ended."""
        self._call(self._post_hooks)

    def _call(self, hooks: dict[int, Hook]) -> None:
        for hook in list(hooks.values()):
            hook(self, (), {})


class _Handle:
    def __init__(self, hooks: dict[int, Hook], hook: Hook) -> None:
        self._hooks = hooks
        hooks[id(self)] = hook

    def remove(self) -> None:
        """Do not call the hook any more."""
        self._hooks.pop(id(self), None)


def await_first_step(module: Any, watch: Callable[[Any], bool]) -> None:
    """Call `watch` with a KerasOptimizer after the first step of each optimizer, and its hooks around later steps.

    Optimizers of other backends than torch have no torch parameters, and are left alone.
    """
    apply = module.BaseOptimizer.apply
    seen: weakref.WeakKeyDictionary[Any, KerasOptimizer | None] = weakref.WeakKeyDictionary()

    @functools.wraps(apply)
    def applied(optimizer: Any, *args: Any, **given: Any) -> Any:
        known = seen.get(optimizer)
        if known is not None:
            with contextlib.suppress(Exception):
                known.before()
        result = apply(optimizer, *args, **given)
        with contextlib.suppress(Exception):
            if known is not None:
                known.after()
            elif optimizer not in seen:
                seen[optimizer] = None
                stand_in = KerasOptimizer(optimizer)
                if stand_in.param_groups[0]["params"] and watch(stand_in):
                    seen[optimizer] = stand_in
        return result

    module.BaseOptimizer.apply = applied


def _parameters(optimizer: Any) -> list[Any]:
    """The torch parameters that it trains."""
    values = (variable.value for variable in optimizer._trainable_variables)
    return [value for value in values if hasattr(value, "grad")]


def _rate(optimizer: Any) -> float:
    return float(optimizer.learning_rate)
