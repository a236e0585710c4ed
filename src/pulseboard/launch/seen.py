"""Inside the training: what a script gives to another logger is logged to the run as well.

Each function gets a module that was just imported and wraps one of its functions. The script's own call comes first and
its result is returned; an error of ours never reaches the script.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from pulseboard.launch import environment
from pulseboard.launch.attach import attached_run

MODULES: dict[str, tuple[str, ...]] = {
    "wandb": ("wandb.sdk.wandb_init", "wandb.sdk.wandb_run"),
    "tensorboard": ("torch.utils.tensorboard.writer", "tensorboardX.writer"),
    "lightning": (
        "lightning.pytorch.trainer.connectors.logger_connector.logger_connector",
        "pytorch_lightning.trainer.connectors.logger_connector.logger_connector",
    ),
    "transformers": ("transformers.trainer",),
}
"""The modules in which each logger is seen."""


def environment_of(loggers: list[str]) -> dict[str, str]:
    """What tells the training which loggers to see. Nothing that they log leaves this machine."""
    if not loggers:
        return {}
    offline = {"WANDB_MODE": "offline"} if "wandb" in loggers else {}
    return {environment.SEEN: ",".join(name for logger in loggers for name in MODULES[logger]), **offline}


def see(module: Any) -> None:
    """Log what the script gives to the logger in this module."""
    name = module.__name__
    if name == "wandb.sdk.wandb_init":
        module.init = _kept_offline(module.init)
    elif name == "wandb.sdk.wandb_run":
        _after(module.Run, "log", _WandbSteps().see)
    elif name in MODULES["tensorboard"]:
        _after(module.SummaryWriter, "add_scalar", _scalar)
    elif name in MODULES["lightning"]:
        # In the order of their names: the class was private at first.
        connector = getattr(module, "_LoggerConnector", None) or module.LoggerConnector
        _after(connector, "log_metrics", _lightning)
    elif name in MODULES["transformers"]:
        _after(module.Trainer, "log", _transformers)


def _after(owner: type, method: str, then: Callable[..., None]) -> None:
    """Call `then` with the arguments of each call of a method, after it has returned."""
    original = getattr(owner, method)

    @functools.wraps(original)
    def called(*args: Any, **given: Any) -> Any:
        result = original(*args, **given)
        with contextlib.suppress(Exception):
            then(*args, **given)
        return result

    setattr(owner, method, called)


def _log(values: Mapping[str, Any], step: int | None) -> None:
    found = dict(_numbers(values, ""))
    run = attached_run() if found else None
    if run is not None:
        run.log(found, step=step)


def _numbers(values: Mapping[str, Any], prefix: str) -> Any:
    """The numbers among some values, also of tensors with one element and in nested dictionaries."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{prefix}{name}/")
        elif isinstance(value, bool | int | float):
            yield prefix + str(name), float(value)
        elif getattr(value, "size", None) == 1 or (hasattr(value, "numel") and value.numel() == 1):
            yield prefix + str(name), float(value.item() if hasattr(value, "item") else value)


# ---- W&B


def _kept_offline(init: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(init)
    def called(*args: Any, **given: Any) -> Any:
        if given.get("mode") not in (None, "disabled"):
            given["mode"] = "offline"
        return init(*args, **given)

    return called


class _WandbSteps:
    """Counts steps as W&B does: every call is one, unless it gives the step or does not commit."""

    def __init__(self) -> None:
        self._next = itertools.count()
        self._step = next(self._next)

    def see(self, run: Any, data: Mapping[str, Any], step: int | None = None, commit: bool | None = None) -> None:
        if step is not None and step > self._step:
            self._next = itertools.count(step + 1)
            self._step = step
        _log(data, self._step)
        if commit or (commit is None and step is None):
            self._step = next(self._next)


# ---- the others


def _scalar(writer: Any, tag: str, scalar_value: Any, global_step: Any = None, *_: Any, **__: Any) -> None:
    _log({tag: scalar_value}, None if global_step is None else int(global_step))


def _lightning(connector: Any, metrics: Mapping[str, Any], step: int | None = None) -> None:
    trainer = connector.trainer
    if step is None:
        stated = metrics.get("step")
        step = int(stated) if stated is not None else trainer.fit_loop.epoch_loop._batches_that_stepped
    _log({name: value for name, value in metrics.items() if name != "step"}, step)


def _transformers(trainer: Any, logs: Mapping[str, Any], *_: Any, **__: Any) -> None:
    from transformers.integrations import integration_utils

    if trainer.is_world_process_zero():
        _log(integration_utils.rewrite_logs(dict(logs)), trainer.state.global_step)
