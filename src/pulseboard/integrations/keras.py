"""Keras 3: `PulseboardCallback`, a callback for fit and evaluate on any backend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pulseboard.core.errors import MissingPackage
from pulseboard.integrations.kept_run import KeptRun
from pulseboard.record.run import Run

try:
    import keras
except ModuleNotFoundError as error:
    if error.name != "keras":
        raise
    raise MissingPackage("PulseboardCallback", package="keras", extra="keras") from None


class PulseboardCallback(keras.callbacks.Callback):
    """Logs train/…, val/…, the learning rate and the epoch after each epoch, and test/… after an `evaluate`.

    A step is an update of the optimizer, so that epochs, batches and several calls of `fit` share one axis.
    `update_freq`, 'batch' or a number of batches, adds points of train/… within an epoch; as everywhere in Keras they
    are means since the epoch began.

    Makes its run when `fit` begins, with `settings` as arguments of `pulseboard.init`, and finishes it at the end; a
    further `fit` or `evaluate` goes on with it. A `run` that is given is left open.
    """

    def __init__(
        self, *, update_freq: int | Literal["epoch", "batch"] = "epoch", run: Run | None = None, **settings: Any
    ) -> None:
        super().__init__()
        self._kept = KeptRun(run, settings)
        self._fitting = False
        self._batches = 0  # of this epoch that were looked at
        self._logged_step = -1  # of the last train/… within an epoch
        if update_freq != "epoch":
            self._update_freq = 1 if update_freq == "batch" else int(update_freq)
            if self._update_freq < 1:
                raise ValueError(f"update_freq must be 'epoch', 'batch' or at least 1, not {update_freq!r}.")
            # Only now: Keras waits for the device after every batch where a callback has this method.
            self.on_train_batch_end = self._on_train_batch_end

    def on_train_begin(self, logs: Any = None) -> None:
        """Begin the run, or go on with it."""
        self._fitting = True
        model, params = self.model, self.params or {}
        self._kept.get().update_config(
            epochs=params.get("epochs"),
            steps_per_epoch=params.get("steps"),
            model={"name": model.name, "parameters": model.count_params() if model.built else None},
            optimizer=_config(model.optimizer),
        )

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Count its batches from here."""
        self._batches = 0

    def _on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        # `batch` is the last one of several where steps_per_execution is set.
        before, self._batches = self._batches, batch + 1
        if logs and self._batches // self._update_freq > before // self._update_freq:
            self._logged_step = self._step()
            self._kept.log({f"train/{name}": value for name, value in logs.items()}, step=self._logged_step)

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Log the epoch's metrics, those of the validation among them."""
        step, logs = self._step(), logs or {}
        values = {f"val/{name.removeprefix('val_')}": logs[name] for name in logs if name.startswith("val_")}
        if step != self._logged_step:
            values |= {f"train/{name}": logs[name] for name in logs if not name.startswith("val_")}
        self._kept.log({**values, **self._learning_rates(), "train/epoch": epoch + 1}, step=step)

    def on_train_end(self, logs: Any = None) -> None:
        """The fit is over."""
        self._fitting = False
        self._kept.end()

    def on_test_end(self, logs: Mapping[str, Any] | None = None) -> None:
        """Log an `evaluate`. The validation within a fit is logged with its epoch."""
        if self._fitting:
            return
        self._kept.log({f"test/{name}": value for name, value in (logs or {}).items()}, step=self._step())
        self._kept.end()

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
    except Exception:  # a learning rate schedule of the user's own need not have a config
        return {"name": optimizer.name}


def _learning_rate(optimizer: Any) -> float:
    return float(keras.ops.convert_to_numpy(optimizer.learning_rate))
