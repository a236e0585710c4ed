"""Hugging Face transformers: `PulseboardCallback`, a callback for its Trainer.

Importing this file registers it: `TrainingArguments(report_to="pulseboard")` works from then on.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pulseboard.core.errors import MissingPackage
from pulseboard.integrations.managed_run import ManagedRun
from pulseboard.record.active_run import ActiveRun
from pulseboard.record.messages import warn
from pulseboard.record.run_directory import NoRunToResume

try:
    from transformers import TrainerCallback
    from transformers.integrations import integration_utils
except ModuleNotFoundError as error:
    if error.name != "transformers":
        raise
    raise MissingPackage("PulseboardCallback", package="transformers", extra="transformers") from None


class PulseboardCallback(TrainerCallback):
    """Logs what a Trainer logs, under the tags of its TensorBoardCallback.

    Starts a run for each training, with `settings` as arguments of `pulseboard.init`, on rank 0. Checkpoints contain
    the run's id, so training that resumes from one continues its run. A run passed as `run` stays open, and resuming it
    is up to you.
    """

    def __init__(self, *, run: ActiveRun | None = None, **settings: Any) -> None:
        self.checkpoint_run_id: str | None = None  # set by a Trainer that restores callbacks from a checkpoint
        self._managed_run = ManagedRun(run, settings)
        self._trained = False  # training has started at least once
        self._training = False

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Start a run, or continue the checkpoint's run."""
        if not state.is_world_process_zero:
            return
        if self._trained and state.global_step == 0:
            self._managed_run.start_over()
        self._trained = self._training = True
        run = self._open(args, state)
        config: Any = getattr(model, "config", None)
        model_config = {"model": config.to_dict()} if hasattr(config, "to_dict") else {}
        run.update_config(**{**args.to_dict(), **model_config})
        if self._managed_run.is_own:
            # The form in which the Trainer stores a callback's state, but without requiring it in old checkpoints.
            name = type(self).__name__
            state.stateful_callbacks[name] = {
                "args": _storable(self._managed_run.settings),
                "attributes": {"checkpoint_run_id": run.id},
            }

    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **_: Any) -> None:
        """Log what the Trainer logs, including `evaluate` during and outside training."""
        self._log(logs, state)

    def on_predict(self, args: Any, state: Any, control: Any, metrics: Mapping[str, Any], **_: Any) -> None:
        """Log the metrics of `predict`, which the Trainer itself does not log."""
        self._log(metrics, state)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Finish the run. A later `evaluate` continues it."""
        self._training = False
        self._managed_run.close()

    def _log(self, values: Mapping[str, Any] | None, state: Any) -> None:
        if not state.is_world_process_zero or not values:
            return
        self._managed_run.log({_tag(name): value for name, value in values.items()}, step=state.global_step)
        if not self._training:
            self._managed_run.close()

    def _open(self, args: Any, state: Any) -> ActiveRun:
        stored = state.stateful_callbacks.get(type(self).__name__) or {}
        run_id = stored.get("attributes", {}).get("checkpoint_run_id")
        settings = self._managed_run.settings
        resumes = self._managed_run.is_own and state.global_step > 0 and run_id is not None
        if resumes and "resume" not in settings and settings.get("run_id") in (None, run_id):
            self._managed_run.start_over()
            try:
                return self._managed_run.open(resume=run_id)
            except NoRunToResume as error:
                warn(f"{error}. A new run starts at step {state.global_step}.")
        name = state.trial_name if state.is_hyper_param_search else args.run_name
        # Older versions name a run after its output directory by default.
        tag = {"run_tag": name} if name and name != args.output_dir and "run_id" not in settings else {}
        return self._managed_run.open(**tag)


def _tag(name: str) -> str:
    """The tag that transformers' TensorBoardCallback would use: loss -> train/loss, eval_loss -> eval/loss."""
    for area in ("eval", "test"):
        if name.startswith(f"{area}_"):
            return f"{area}/{name.removeprefix(f'{area}_')}"
    return f"train/{name}"


def _storable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that fit into a checkpoint, which is JSON."""
    plain = {key: os.fspath(value) if isinstance(value, os.PathLike) else value for key, value in settings.items()}
    return {key: value for key, value in plain.items() if isinstance(value, str | int | float | bool)}


# transformers has no function to register a callback; this table is where `report_to` looks.
getattr(integration_utils, "INTEGRATION_TO_CALLBACK", {})["pulseboard"] = PulseboardCallback
