"""Keras with the PyTorch backend, and faults as callbacks; the bases of Keras share it."""

import os
from typing import Any

from zoo.foreign.base import Crash


def preload() -> None:
    """Import the framework."""
    os.environ["KERAS_BACKEND"] = "torch"
    import torch

    torch.set_num_threads(1)
    import keras  # noqa: F401


def nan_at(epoch: int) -> Any:
    """A callback that ruins the weights at an epoch, as one batch with a NaN does."""
    import keras

    class NanBatch(keras.callbacks.Callback):
        def on_epoch_begin(self, now: int, logs: Any = None) -> None:
            if now == epoch:
                variable = self.model.trainable_variables[0]
                variable.assign(variable * float("nan"))

    return NanBatch()


def crash_at(epoch: int) -> Any:
    """A callback that ends the training with an exception in the middle of an epoch."""
    import keras

    class OutOfMemory(keras.callbacks.Callback):
        def on_epoch_begin(self, now: int, logs: Any = None) -> None:
            if now == epoch:
                raise Crash("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory")

    return OutOfMemory()
