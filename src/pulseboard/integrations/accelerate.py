"""Hugging Face accelerate: `PulseboardTracker`, a tracker for `Accelerator(log_with=...)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulseboard.core.errors import MissingPackage
from pulseboard.integrations.kept_run import KeptRun
from pulseboard.record.run import Run

try:
    from accelerate.tracking import GeneralTracker, on_main_process
except ModuleNotFoundError as error:
    if error.name != "accelerate":
        raise
    raise MissingPackage("PulseboardTracker", package="accelerate", extra="accelerate") from None


class PulseboardTracker(GeneralTracker):
    """Logs what `accelerator.log` is given, in the main process.

    Makes its run in `init_trackers`, with `settings` as arguments of `pulseboard.init`, and finishes it in
    `end_training`. A `run` that is given is left open.
    """

    name = "pulseboard"
    requires_logging_directory = False
    main_process_only = True

    def __init__(self, *, run: Run | None = None, **settings: Any) -> None:
        self._kept = KeptRun(run, settings)
        super().__init__()

    @property
    @on_main_process
    def tracker(self) -> Run:
        """The run. None in other processes than the main one."""
        return self._kept.get()

    @on_main_process
    def start(self) -> None:
        """Begin the run."""
        self._kept.get()

    @on_main_process
    def store_init_configuration(self, values: Mapping[str, Any]) -> None:
        """Record the configuration, and its values as hyperparameters."""
        run = self._kept.get()
        run.update_config(**{str(name): value for name, value in values.items()})
        run.hparams(values)

    @on_main_process
    def log(self, values: Mapping[str, Any], step: int | None = None, **_: Any) -> None:
        """Log numbers (Python's, NumPy's, or tensors, for whose device nobody waits) and strings."""
        self._kept.log(values, step=step)

    @on_main_process
    def log_images(self, values: Mapping[str, Any], step: int | None = None, **named: Any) -> None:
        """Log the images of each name, arrays or Pillow images. `named` goes to Run.image."""
        for name, images in values.items():
            for i, image in enumerate(images):
                self._kept.get().image(name if len(images) == 1 else f"{name}/{i}", image, step=step, **named)

    @on_main_process
    def finish(self) -> None:
        """The training is over."""
        self._kept.end()
