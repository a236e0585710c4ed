"""The step clock: where the time of a step goes, and how much was trained on in it."""

from __future__ import annotations

import time
from typing import Any

from pulseboard.record.telemetry.sources.torch_memory import GB, torch_with_cuda


class StepClock:
    """Times of passes and steps, averaged since they were last told.

    On a GPU these are the times of the calling thread, unless the loop waits for the device.
    """

    def __init__(self) -> None:
        self.step_secs = 0.0  # of the newest step; 0 until there were two
        self.forward_secs = 0.0
        self.data_secs = 0.0
        self._ended_at: float | None = None
        self._forward_at = self._forward_ended_at = self._optimizer_at = 0.0
        self._fresh = True  # no forward pass yet in this step
        self._interrupted = False
        self._reset()

    def _reset(self) -> None:
        self._forward = self._backward = self._optimizer = self._data = self._whole = 0.0
        self._steps = self._samples = self._tokens = 0

    def forward_begins(self, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        """A forward pass begins; its first tensor says how many samples it has."""
        now = time.perf_counter()
        if self._interrupted and self._ended_at is not None:
            self._ended_at = now
        self._interrupted = False
        if self._fresh:
            self.forward_secs = self.data_secs = 0.0
            if self._ended_at is not None:
                self.data_secs = now - self._ended_at
                self._data += self.data_secs
        else:  # a further pass of an accumulated step: what came before it was backward
            self._backward += now - self._forward_ended_at
        self._fresh = False
        self._forward_at = now
        first = next((a for a in (*args, *named.values()) if hasattr(a, "shape") and getattr(a, "dim", int)()), None)
        if first is not None:
            self._samples += first.shape[0]
            if not first.is_floating_point() and first.dim() >= 2:  # token ids
                self._tokens += first.shape[0] * first.shape[1]

    def forward_ended(self) -> None:
        """The forward pass is over."""
        self._forward_ended_at = time.perf_counter()
        taken = self._forward_ended_at - self._forward_at
        self.forward_secs += taken
        self._forward += taken

    def evaluated(self) -> None:
        """A forward pass that trains nothing: what passed since the last step is not the next one's."""
        self._interrupted = self._fresh

    def backward_ended(self) -> None:
        """The gradients are there."""
        if not self._fresh:
            self._backward += time.perf_counter() - self._forward_ended_at

    def optimizer_begins(self) -> None:
        """The optimizer sets out."""
        self._optimizer_at = time.perf_counter()

    def step_ended(self) -> None:
        """The optimizer is done, and with it the step."""
        now = time.perf_counter()
        self._optimizer += now - self._optimizer_at
        if self._ended_at is not None:
            self.step_secs = now - self._ended_at
            self._whole += self.step_secs
            self._steps += 1
        else:
            self._reset()  # the first step loads code; it says nothing
        self._ended_at = now
        self._fresh = True

    def told(self) -> dict[str, float]:
        """The averages under their tags, and a new beginning. Nothing before the second step is over."""
        if not self._steps:
            return {}
        ms = 1000 / self._steps
        found = {
            "forward_time_ms": self._forward * ms,
            "backward_time_ms": self._backward * ms,
            "total_time_ms": (self._forward + self._backward) * ms,
            "optimizer_time_ms": self._optimizer * ms,
            "data_time_ms": self._data * ms,
            "step_time_ms": self._whole * ms,
            "samples_per_second": self._samples / self._whole,
        }
        if self._backward:
            found["forward_backward_ratio"] = self._forward / self._backward
        if self._tokens:
            found["tokens_per_second"] = self._tokens / self._whole
        torch = torch_with_cuda()
        if torch is not None:
            found["gpu_memory_allocated_gb"] = torch.cuda.memory_allocated() / GB
            found["gpu_memory_reserved_gb"] = torch.cuda.memory_reserved() / GB
        self._reset()
        return {f"train/performance/{name}": value for name, value in found.items()}
