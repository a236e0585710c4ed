"""Hugging Face accelerate: `PulseboardTracker`, a tracker for `Accelerator(log_with=...)`.

Importing this file registers it: `Accelerator(log_with="pulseboard")` works from then on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulseboard.core.errors import MissingPackage
from pulseboard.integrations.managed_run import ManagedRun
from pulseboard.record.active_run import ActiveRun

try:
    import accelerate.tracking
    from accelerate.tracking import GeneralTracker, on_main_process
except ModuleNotFoundError as error:
    if error.name != "accelerate":
        raise
    raise MissingPackage("PulseboardTracker", package="accelerate", extra="accelerate") from None


class PulseboardTracker(GeneralTracker):
    """Logs what is passed to `accelerator.log`, in the main process.

    Starts a run in `init_trackers`, with `settings` as arguments of `pulseboard.init`, and finishes it in
    `end_training`. If accelerate creates the tracker, it passes the project. A run passed as `run` stays open.
    """

    name = "pulseboard"
    requires_logging_directory = False
    main_process_only = True

    def __init__(self, project_name: str | None = None, *, run: ActiveRun | None = None, **settings: Any) -> None:
        project = {} if project_name is None else {"project": project_name}
        self._managed_run = ManagedRun(run, {**project, **settings})
        super().__init__()

    @property
    @on_main_process
    def tracker(self) -> ActiveRun:
        """The run; None outside the main process."""
        return self._managed_run.open()

    @on_main_process
    def start(self) -> None:
        """Start the run."""
        self._managed_run.open()

    @on_main_process
    def store_init_configuration(self, values: Mapping[str, Any]) -> None:
        """Record the configuration, and its values as hyperparameters."""
        run = self._managed_run.open()
        run.update_config(**{str(name): value for name, value in values.items()})
        run.hparams(values)

    @on_main_process
    def log(self, values: Mapping[str, Any], step: int | None = None, **_: Any) -> None:
        """Log numbers (Python, NumPy or tensors, without waiting for their device) and strings."""
        self._managed_run.log(values, step=step)

    @on_main_process
    def log_images(self, values: Mapping[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Log the images of each name: arrays or Pillow images. `kwargs` go to ActiveRun.image."""
        for name, images in values.items():
            for i, image in enumerate(images):
                self._managed_run.open().image(name if len(images) == 1 else f"{name}/{i}", image, step=step, **kwargs)

    @on_main_process
    def finish(self) -> None:
        """The training is over."""
        self._managed_run.close()


# Older versions only take a tracker object.
if register := getattr(accelerate.tracking, "register_tracker_class", None):
    register(PulseboardTracker)
