"""Keras 3: `PulseboardCallback`, a callback for `fit` and `evaluate` on any backend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pulseboard.core.errors import MissingPackage
from pulseboard.integrations.managed_run import ManagedRun
from pulseboard.record.active_run import ActiveRun

try:
    import keras
except ModuleNotFoundError as error:
    if error.name != "keras":
        raise
    raise MissingPackage("PulseboardCallback", package="keras", extra="keras") from None


class PulseboardCallback(keras.callbacks.Callback):
    """Logs train/…, val/…, the learning rate and the epoch after each epoch, and test/… after an `evaluate`.

    A step is an optimizer update, so epochs, batches and repeated calls of `fit` share one axis. `update_freq`, 'batch'
    or a number of batches, adds points of train/… within an epoch; as always in Keras, they are means since the start
    of the epoch.

    Starts a run when `fit` begins, with `settings` as arguments of `pulseboard.init`, and finishes it at the end; a
    later `fit` or `evaluate` continues it. A run passed as `run` stays open.
    """

    def __init__(
        self, *, update_freq: int | Literal["epoch", "batch"] = "epoch", run: ActiveRun | None = None, **settings: Any
    ) -> None:
        super().__init__()
        self._managed_run = ManagedRun(run, settings)
        self._fitting = False
        self._batches = 0  # seen in this epoch
        self._logged_step = -1  # of the last train/… within an epoch
        if update_freq != "epoch":
            self._update_freq = 1 if update_freq == "batch" else int(update_freq)
            if self._update_freq < 1:
                raise ValueError(f"update_freq must be 'epoch', 'batch' or at least 1, not {update_freq!r}.")
            # Set only if needed: Keras waits for the device after every batch if a callback has this method.
            self.on_train_batch_end = self._on_train_batch_end

    def on_train_begin(self, logs: Any = None) -> None:
        """Start or continue the run."""
        self._fitting = True
        model, params = self.model, self.params or {}
        self._managed_run.open().update_config(
            epochs=params.get("epochs"),
            steps_per_epoch=params.get("steps"),
            model={"name": model.name, "parameters": model.count_params() if model.built else None},
            optimizer=_config(model.optimizer),
        )

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Start counting batches."""
        self._batches = 0

    def _on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        # With steps_per_execution, `batch` is the last of several.
        previous, self._batches = self._batches, batch + 1
        if logs and self._batches // self._update_freq > previous // self._update_freq:
            self._logged_step = self._step()
            self._managed_run.log({f"train/{name}": value for name, value in logs.items()}, step=self._logged_step)

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Log the epoch's metrics, including validation."""
        step, logs = self._step(), logs or {}
        values = {f"val/{name.removeprefix('val_')}": logs[name] for name in logs if name.startswith("val_")}
        if step != self._logged_step:
            values |= {f"train/{name}": logs[name] for name in logs if not name.startswith("val_")}
        self._managed_run.log({**values, **self._learning_rates(), "train/epoch": epoch + 1}, step=step)

    def on_train_end(self, logs: Any = None) -> None:
        """Finish the run."""
        self._fitting = False
        self._managed_run.close()

    def on_test_end(self, logs: Mapping[str, Any] | None = None) -> None:
        """Log the results of `evaluate`. Validation during `fit` is logged with its epoch."""
        if self._fitting:
            return
        self._managed_run.log({f"test/{name}": value for name, value in (logs or {}).items()}, step=self._step())
        self._managed_run.close()

    def _step(self) -> int:
        optimizer = self.model.optimizer
        return 0 if optimizer is None else int(keras.ops.convert_to_numpy(optimizer.iterations))

    def _learning_rates(self) -> dict[str, float]:
        optimizer = self.model.optimizer
        optimizer = getattr(optimizer, "inner_optimizer", optimizer)  # of a LossScaleOptimizer
        several = getattr(optimizer, "optimizers", None)
        if several:
            return {f"train/learning_rate_{each.name}": _learning_rate(each) for each in several}
        return {} if optimizer is None else {"train/learning_rate": _learning_rate(optimizer)}


def _config(optimizer: Any) -> dict[str, Any] | None:
    if optimizer is None:
        return None
    try:
        return dict(optimizer.get_config())
    except Exception:  # a custom learning-rate schedule need not have a config
        return {"name": optimizer.name}


def _learning_rate(optimizer: Any) -> float:
    return float(keras.ops.convert_to_numpy(optimizer.learning_rate))
