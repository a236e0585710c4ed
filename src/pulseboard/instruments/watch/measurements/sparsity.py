"""Sparsity: gradients that are missing, zero, or left over from the step before."""

from __future__ import annotations

from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.watch.measurement import AddHook, Measurement, measurement
from pulseboard.instruments.watch.shards import local
from pulseboard.instruments.watch.training import Training


@measurement(
    id="sparsity",
    every=500,
    metrics={
        "train/gradient_flow/zero_share": Metric(
            "1", "share of gradient values that are exactly 0", "near 0, except for embeddings of unused tokens"
        ),
        "train/gradient_flow/none_share": Metric(
            "1", "share of trained parameters without a gradient", "0; the others are cut off from the loss"
        ),
        "train/gradient_flow/left_over": Metric(
            "1",
            "L2 norm of what the previous step left in the gradient of one parameter, when backward reaches it",
            "0; otherwise zero_grad() is missing",
        ),
    },
)
class Sparsity(Measurement):
    """A backward hook on one parameter sees what is in its gradient before anything is added."""

    def __init__(self, training: Training) -> None:
        super().__init__(training)
        self._left_over: Any = None  # None until a backward pass of this step has reached the parameter

    def install(self, add_hook: AddHook) -> None:
        """Follow the last trained parameter: it is nearest to the loss, so a cut-off part does not hide it."""
        trained = self.training.parameters.trained()
        if self.training.optimizer is not None and trained:
            parameter = trained[-1][1]
            add_hook(parameter.register_hook, lambda gradient: self._backward_reaches(parameter))

    def _backward_reaches(self, parameter: Any) -> None:
        training = self.training
        # Only the first of a step's backward passes: nothing has been accumulated yet.
        if self._left_over is None and training.steps_done and training.schedule.due(self.id, training.step):
            with training.torch.no_grad():
                held = parameter.grad
                self._left_over = 0.0 if held is None else training.torch.linalg.vector_norm(held.detach())

    def before_step(self) -> dict[str, Any]:
        """Shares of zero and missing gradients."""
        torch, parameters = self.training.torch, self.training.parameters
        trained = parameters.trained()
        missing = sum(p.grad is None for _, p in trained)
        values: dict[str, Any] = {"train/gradient_flow/none_share": missing / max(1, len(trained))}
        if self._left_over is not None:
            values["train/gradient_flow/left_over"] = self._left_over
        if found := parameters.with_gradients():
            # Counts are exact in float32 up to 16 million per tensor, and close enough beyond.
            zeros = [(local(p.grad) == 0).sum().float() / parameters.shards.copies(p) for _, p in found]
            total = parameters.shards.sum(torch.stack(parameters.on_one_device(zeros)).sum())
            values["train/gradient_flow/zero_share"] = total / max(1, sum(p.numel() for _, p in found))
        return values

    def step_ended(self) -> None:
        """Forget the leftover of this step."""
        self._left_over = None
