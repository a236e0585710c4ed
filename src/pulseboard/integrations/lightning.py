"""PyTorch Lightning: `PulseboardLogger`, a logger for its Trainer (`lightning` or `pytorch_lightning`)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

from pulseboard.core.config import as_mapping
from pulseboard.core.errors import MissingPackage
from pulseboard.integrations.managed_run import ManagedRun
from pulseboard.record.active_run import ActiveRun


def _logger_module() -> Any:
    """The module of Lightning's base logger. The package has two names; one that is already imported is preferred."""
    for name in sorted(("lightning.pytorch", "pytorch_lightning"), key=lambda name: name not in sys.modules):
        try:
            return importlib.import_module(f"{name}.loggers.logger")
        except ModuleNotFoundError as error:
            if error.name not in (name, name.partition(".")[0]):
                raise
    raise MissingPackage("PulseboardLogger", package="lightning", extra="lightning")


_lightning = _logger_module()
_Logger: Any = _lightning.Logger


class PulseboardLogger(_Logger):
    """Logs what a LightningModule logs. Checkpoints go to the run's directory.

    Starts a run when training begins, with `settings` as arguments of `pulseboard.init`, and finishes it when the
    trainer is done; a later `trainer.test` continues it. A run passed as `run` stays open.
    """

    def __init__(self, *, run: ActiveRun | None = None, **settings: Any) -> None:
        super().__init__()
        self._managed_run = ManagedRun(run, settings)

    @property
    @_lightning.rank_zero_experiment
    def experiment(self) -> ActiveRun:
        """The run on rank 0; on other ranks an object that accepts every call and does nothing."""
        return self._managed_run.open()

    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Log the metrics that Lightning collected for a step."""
        self.experiment.log(metrics, step)

    def log_hyperparams(self, params: Any, metrics: Mapping[str, Any] | None = None) -> None:
        """Record hyperparameters (a mapping, a Namespace or a dataclass) and metrics to compare runs by."""
        values = {str(name): value for name, value in as_mapping(params).items()}
        self.experiment.update_config(**values)
        self.experiment.hparams(values, metrics)

    def save(self) -> None:
        """Flush everything to disk."""
        if self._managed_run.current is not None:
            self._managed_run.current.flush()

    def finalize(self, status: str) -> None:
        """Finish the run. Any status but 'success' and 'finished' means that training failed."""
        self._managed_run.close(status="finished" if status in ("success", "finished") else "failed")

    # Lightning saves checkpoints to <save_dir>/<name>/<version>/checkpoints, which is inside the run's directory. Other
    # ranks have no run; Lightning sends them the path.

    @property
    def save_dir(self) -> str | None:
        """The directory that contains the run's."""
        return str(self._run.directory.parent) if self._run else None

    @property
    def name(self) -> str:
        """Empty: there is no directory between `save_dir` and the run's."""
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
    def _run(self) -> ActiveRun | None:
        run = self._managed_run.current or self.experiment  # reading its path must not reopen it
        return run if isinstance(run, ActiveRun) else None
