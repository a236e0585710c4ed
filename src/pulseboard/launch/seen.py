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
        "lightning.pytorch.core.module",
        "pytorch_lightning.core.module",
        "lightning.pytorch.trainer.trainer",
        "pytorch_lightning.trainer.trainer",
    ),
    "transformers": ("transformers.trainer", "accelerate.accelerator"),
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
    elif name.endswith(".core.module"):
        _after(module.LightningModule, "backward", _lightning_steps.trained)
    elif name.endswith(".trainer.trainer"):
        _after(module.Trainer, "fit", _lightning_steps.fitted)
    elif name in MODULES["lightning"]:
        # In the order of their names: the class was private at first.
        connector = getattr(module, "_LoggerConnector", None) or module.LoggerConnector
        _after(connector, "log_metrics", _lightning)
    elif name == "transformers.trainer":
        _after(module.Trainer, "training_step", _trainer_steps.trained)
        _after(module.Trainer, "log", _trainer_steps.logged)
    elif name == "accelerate.accelerator":
        _after(module.Accelerator, "clip_grad_norm_", _trainer_steps.clipped)


def _after(owner: type, method: str, then: Callable[..., None]) -> None:
    """Call `then` with the result and the arguments of each call of a method, after it has returned."""
    original = getattr(owner, method)

    @functools.wraps(original)
    def called(*args: Any, **given: Any) -> Any:
        result = original(*args, **given)
        with contextlib.suppress(Exception):
            then(result, *args, **given)
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

    def see(
        self, _: None, run: Any, data: Mapping[str, Any], step: int | None = None, commit: bool | None = None
    ) -> None:
        if step is not None and step > self._step:
            self._next = itertools.count(step + 1)
            self._step = step
        _log(data, self._step)
        if commit or (commit is None and step is None):
            self._step = next(self._next)


# ---- the others


def _scalar(
    result: None, writer: Any, tag: str, scalar_value: Any, global_step: Any = None, *_: Any, **__: Any
) -> None:
    _log({tag: scalar_value}, None if global_step is None else int(global_step))


def _lightning(result: None, connector: Any, metrics: Mapping[str, Any], step: int | None = None) -> None:
    trainer = connector.trainer
    if step is None:
        stated = metrics.get("step")
        step = int(stated) if stated is not None else trainer.fit_loop.epoch_loop._batches_that_stepped
    _log({name: value for name, value in metrics.items() if name != "step"}, step)


class _Step:
    """What is seen of a step, until it is over. Values on a GPU are not waited for."""

    def __init__(self, *, first: int) -> None:
        self._first = first  # the number of the first step
        self._values: dict[str, Any] = {}
        self._steps_done = 0  # before this one
        self.tags: set[str] = set()
        """Those logged so far."""

    def add(self, tag: str, value: Any) -> None:
        """Add to the sum over the passes of the step."""
        self._values[tag] = self._values[tag] + value if tag in self._values else value

    def set(self, tag: str, value: Any) -> None:
        """Note a value, if the step has one that is added up."""
        if self._values:
            self._values[tag] = value

    def over(self, steps_done: int) -> None:
        """Log the step, if as many are done by now."""
        if steps_done != self._steps_done and self._values:
            values, self._values = self._values, {}
            self.tags |= values.keys()
            run = attached_run()
            if run is not None:
                run.log(values, step=self._steps_done + self._first)
        self._steps_done = steps_done


class _LightningSteps:
    """The loss of every step of a Lightning `Trainer`, which by itself logs only what the script passes to `log`."""

    def __init__(self) -> None:
        self._step = _Step(first=0)

    def trained(self, result: None, module: Any, loss: Any, *_: Any, **__: Any) -> None:
        """A forward and backward pass is over. The loss is divided by the number of passes of a step."""
        if module.trainer.is_global_zero:
            self._step.over(module.trainer.fit_loop.epoch_loop._batches_that_stepped)
            self._step.add("train/step_loss", loss.detach())

    def fitted(self, result: None, trainer: Any, *_: Any, **__: Any) -> None:
        """The training is over."""
        self._step.over(trainer.fit_loop.epoch_loop._batches_that_stepped)


class _TrainerSteps:
    """The loss and the gradient norm of every step of a Hugging Face `Trainer`, which itself logs them every so many.

    Its loss of a step is the sum of what its passes return; it logs the mean of several steps, without those that are
    not finite.
    """

    def __init__(self) -> None:
        self._step = _Step(first=1)
        self._described = False

    def trained(self, loss: Any, trainer: Any, *_: Any, **__: Any) -> None:
        """A forward and backward pass is over."""
        if trainer.is_world_process_zero():
            if not self._described:
                self._described = True
                _describe(trainer)
            self._step.over(trainer.state.global_step)
            self._step.add("train/loss", loss)

    def clipped(self, norm: Any, *_: Any, **__: Any) -> None:
        """The gradients of a step have been measured and clipped."""
        if norm is not None:
            self._step.set("train/grad_norm", norm)

    def logged(self, result: None, trainer: Any, logs: Mapping[str, Any], *_: Any, **__: Any) -> None:
        """The trainer logs what it has."""
        from transformers.integrations import integration_utils

        if trainer.is_world_process_zero():
            self._step.over(trainer.state.global_step)
            found = integration_utils.rewrite_logs(dict(logs))
            _log(
                {name: value for name, value in found.items() if name not in self._step.tags}, trainer.state.global_step
            )


def _describe(trainer: Any) -> None:
    """Log the arguments and the configuration of the model, under the tags of the Trainer's TensorBoard callback."""
    run = attached_run()
    if run is not None:
        run.text("args", trainer.args.to_json_string(), step=0)
        config = getattr(trainer.model, "config", None)
        if config is not None and hasattr(config, "to_json_string"):
            run.text("model_config", config.to_json_string(), step=0)


_lightning_steps, _trainer_steps = _LightningSteps(), _TrainerSteps()
