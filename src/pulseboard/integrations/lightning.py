"""PyTorch Lightning: `PulseboardLogger`, a logger for its Trainer, be it `lightning` or `pytorch_lightning`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

from pulseboard.core.errors import MissingPackage
from pulseboard.integrations.kept_run import KeptRun
from pulseboard.record.run import Run, as_config


def _installed() -> Any:
    """The module with Lightning's base logger. It has two names; the one that the job has loaded comes first."""
    for name in sorted(("lightning.pytorch", "pytorch_lightning"), key=lambda name: name not in sys.modules):
        try:
            return importlib.import_module(f"{name}.loggers.logger")
        except ModuleNotFoundError as error:
            if error.name not in (name, name.partition(".")[0]):
                raise
    raise MissingPackage("PulseboardLogger", package="lightning", extra="lightning")


_lightning = _installed()
_Logger: Any = _lightning.Logger


class PulseboardLogger(_Logger):
    """Logs what a LightningModule logs. Checkpoints go to the run's directory.

    Makes its run when training begins, with `settings` as arguments of `pulseboard.init`, and finishes it when the
    trainer is done; `trainer.test` afterwards goes on with it. A `run` that is given is left open.
    """

    def __init__(self, *, run: Run | None = None, **settings: Any) -> None:
        super().__init__()
        self._kept = KeptRun(run, settings)

    @property
    @_lightning.rank_zero_experiment
    def experiment(self) -> Run:
        """The run, on rank zero. On other ranks something that takes every call and does nothing."""
        return self._kept.get()

    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Log what Lightning has gathered for a step."""
        self.experiment.log(metrics, step)

    def log_hyperparams(self, params: Any, metrics: Mapping[str, Any] | None = None) -> None:
        """Record hyperparameters (a mapping, a Namespace or a dataclass) and metrics to compare runs by."""
        values = {str(name): value for name, value in as_config(params).items()}
        self.experiment.update_config(**values)
        self.experiment.hparams(values, metrics)

    def save(self) -> None:
        """Have everything that was logged on disk."""
        if self._kept.begun is not None:
            self._kept.begun.flush()

    def finalize(self, status: str) -> None:
        """The trainer is done: 'success' or 'finished', else 'failed'."""
        self._kept.end(status="finished" if status in ("success", "finished") else "failed")

    # Lightning keeps checkpoints in <save_dir>/<name>/<version>/checkpoints; together they are the run's directory.
    # On other ranks than zero nobody knows it, and Lightning tells them.

    @property
    def save_dir(self) -> str | None:
        """The directory that runs are made in."""
        return str(self._run.directory.parent) if self._run else None

    @property
    def name(self) -> str:
        """Nothing: there is no directory between `save_dir` and the run's."""
        return ""

    @property
    def version(self) -> str | None:
        """The run's id."""
        return self._run.id if self._run else None

    @property
    def log_dir(self) -> str | None:
        """The run's directory."""
        return str(self._run.directory) if self._run else None

    @property
    def _run(self) -> Run | None:
        run = self._kept.begun or self.experiment  # asking where a run lies does not open it again
        return run if isinstance(run, Run) else None
