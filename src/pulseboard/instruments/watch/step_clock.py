"""The step clock: where the time of a step goes, and how many samples were trained on."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pulseboard.record.telemetry.sources.torch_memory import GB, torch_with_cuda


class StepClock:
    """Times of passes and steps, averaged since the last call of `averages`.

    On a GPU these are times of the calling thread, unless the loop waits for the device.
    """

    def __init__(self, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self.step_secs = 0.0  # of the newest step; 0 until there were two
        self.forward_secs = 0.0
        self.data_secs = 0.0
        self.forward_seen = False  # in training mode, ever
        self._step_ended_at: float | None = None
        self._forward_began_at = self._forward_ended_at = self._optimizer_began_at = 0.0
        self._first_pass = True  # the next forward pass is the first of its step
        self._interrupted = False  # by an evaluation since the last step
        self._reset()

    def _reset(self) -> None:
        self._forward_secs = self._backward_secs = self._optimizer_secs = self._data_secs = self._total_secs = 0.0
        self._steps = self._samples = self._tokens = 0

    def forward_begins(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A forward pass begins; the first tensor of its arguments gives the number of samples."""
        now = self._clock()
        self.forward_seen = True
        if self._interrupted and self._step_ended_at is not None:
            self._step_ended_at = now
        self._interrupted = False
        if self._first_pass:
            self.forward_secs = self.data_secs = 0.0
            if self._step_ended_at is not None:
                self.data_secs = now - self._step_ended_at
                self._data_secs += self.data_secs
        else:  # gradient accumulation: the time since the last forward pass was backward
            self._backward_secs += now - self._forward_ended_at
        self._first_pass = False
        self._forward_began_at = now
        for each in (*args, *kwargs.values()):
            shape = getattr(each, "shape", None)
            if shape and hasattr(each, "is_floating_point"):
                self._samples += shape[0]
                if len(shape) >= 2 and not each.is_floating_point():  # token ids
                    self._tokens += shape[0] * shape[1]
                break

    def forward_ended(self) -> None:
        """The forward pass is over."""
        self._forward_ended_at = self._clock()
        passed_secs = self._forward_ended_at - self._forward_began_at
        self.forward_secs += passed_secs
        self._forward_secs += passed_secs

    def evaluated(self) -> None:
        """A forward pass in evaluation mode: the time since the last step does not belong to the next one."""
        self._interrupted = self._first_pass

    def backward_ended(self) -> None:
        """All gradients are computed."""
        if not self._first_pass:
            self._backward_secs += self._clock() - self._forward_ended_at

    def optimizer_begins(self) -> None:
        """The optimizer starts its step."""
        self._optimizer_began_at = self._clock()

    def step_ended(self) -> None:
        """The optimizer has stepped, which ends the training step."""
        now = self._clock()
        self._optimizer_secs += now - self._optimizer_began_at
        if self._step_ended_at is not None:
            self.step_secs = now - self._step_ended_at
            self._total_secs += self.step_secs
            self._steps += 1
        else:
            self._reset()  # the first step also loads code, so its times are not typical
        self._step_ended_at = now
        self._first_pass = True

    def averages(self) -> dict[str, float]:
        """Averages by tag since the last call. Empty until the second step is over.

        Without forward passes (a compiled model's are not seen) there are only the times of whole steps.
        """
        if not self._steps:
            return {}
        to_ms = 1000 / self._steps
        found = {"optimizer_time_ms": self._optimizer_secs * to_ms, "step_time_ms": self._total_secs * to_ms}
        if self.forward_seen:
            found |= {
                "forward_time_ms": self._forward_secs * to_ms,
                "backward_time_ms": self._backward_secs * to_ms,
                "total_time_ms": (self._forward_secs + self._backward_secs) * to_ms,
                "data_time_ms": self._data_secs * to_ms,
                "samples_per_second": self._samples / self._total_secs,
            }
        if self._backward_secs:
            found["forward_backward_ratio"] = self._forward_secs / self._backward_secs
        if self._tokens:
            found["tokens_per_second"] = self._tokens / self._total_secs
        torch = torch_with_cuda()
        if torch is not None:
            found["gpu_memory_allocated_gb"] = torch.cuda.memory_allocated() / GB
            found["gpu_memory_reserved_gb"] = torch.cuda.memory_reserved() / GB
        self._reset()
        return {f"train/performance/{name}": value for name, value in found.items()}
