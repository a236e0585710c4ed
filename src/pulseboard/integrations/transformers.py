"""Hugging Face transformers: `PulseboardCallback`, a callback for its Trainer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pulseboard.core.errors import MissingPackage
from pulseboard.integrations.kept_run import KeptRun
from pulseboard.record.report import say
from pulseboard.record.run import Run
from pulseboard.record.run_directory import NoRunToResume

try:
    from transformers import TrainerCallback
except ModuleNotFoundError as error:
    if error.name != "transformers":
        raise
    raise MissingPackage("PulseboardCallback", package="transformers", extra="transformers") from None


class PulseboardCallback(TrainerCallback):
    """Logs what a Trainer logs, under the tags its TensorBoardCallback uses.

    Makes a run for each training, with `settings` as arguments of `pulseboard.init`, in the process of rank 0. Its id
    goes into the checkpoints, so a training that resumes from one goes on with its run. A `run` that is given is left
    open, and whoever began it resumes it.
    """

    def __init__(self, *, run: Run | None = None, **settings: Any) -> None:
        self.checkpoint_run_id: str | None = None  # set by a Trainer that restores callbacks from a checkpoint
        self._kept = KeptRun(run, settings)
        self._trained = False  # the run has seen a training begin
        self._training = False

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Begin a run, or go on with the one that the checkpoint is of."""
        if not state.is_world_process_zero:
            return
        if self._trained and state.global_step == 0:
            self._kept.leave()
        self._trained = self._training = True
        run = self._begin(args, state)
        config: Any = getattr(model, "config", None)
        told = {"model": config.to_dict()} if hasattr(config, "to_dict") else {}
        run.update_config(**{**args.to_dict(), **told})
        if self._kept.is_own:
            # As the Trainer itself stores a callback's state, without its demand that old checkpoints have it too.
            name = type(self).__name__
            state.stateful_callbacks[name] = {
                "args": _storable(self._kept.settings),
                "attributes": {"checkpoint_run_id": run.id},
            }

    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **_: Any) -> None:
        """Log what the Trainer logs. `evaluate` comes here too, with or without a training around it."""
        self._log(logs, state)

    def on_predict(self, args: Any, state: Any, control: Any, metrics: Mapping[str, Any], **_: Any) -> None:
        """Log the metrics of `predict`, which the Trainer does not log."""
        self._log(metrics, state)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """The training is over. A later `evaluate` goes on with its run."""
        self._training = False
        self._kept.end()

    def _log(self, values: Mapping[str, Any] | None, state: Any) -> None:
        if not state.is_world_process_zero or not values:
            return
        self._kept.log({_tag(name): value for name, value in values.items()}, step=state.global_step)
        if not self._training:
            self._kept.end()

    def _begin(self, args: Any, state: Any) -> Run:
        stored = state.stateful_callbacks.get(type(self).__name__) or {}
        run_id = stored.get("attributes", {}).get("checkpoint_run_id")
        asked = self._kept.settings
        resumes = self._kept.is_own and state.global_step > 0 and run_id is not None
        if resumes and "resume" not in asked and asked.get("run_id") in (None, run_id):
            self._kept.leave()
            try:
                return self._kept.get(resume=run_id)
            except NoRunToResume as error:
                say(f"{error}. A new run begins at step {state.global_step}.")
        name = state.trial_name if state.is_hyper_param_search else args.run_name
        # Older versions call a run after its output directory, unless it is given a name.
        tag = {"run_tag": name} if name and name != args.output_dir and "run_id" not in asked else {}
        return self._kept.get(**tag)


def _tag(name: str) -> str:
    """A tag as transformers' TensorBoardCallback makes it: loss -> train/loss, eval_loss -> eval/loss."""
    for area in ("eval", "test"):
        if name.startswith(f"{area}_"):
            return f"{area}/{name.removeprefix(f'{area}_')}"
    return f"train/{name}"


def _storable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a checkpoint, which is JSON, can hold."""
    plain = {key: os.fspath(value) if isinstance(value, os.PathLike) else value for key, value in settings.items()}
    return {key: value for key, value in plain.items() if isinstance(value, str | int | float | bool)}
