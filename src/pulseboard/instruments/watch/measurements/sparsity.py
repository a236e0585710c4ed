"""Sparsity: gradients that are missing, zero, or left over from the step before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.watch.measurement import AddHook, Measurement, measurement
from pulseboard.instruments.watch.parameters import gradient_values
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
        self._add_hook: AddHook | None = None
        self._unfollow: Callable[[], None] | None = None  # removes the hook
        self._left_over: Any = None  # squared; None until a backward pass of this step has reached the parameter
        self._last_step = 0

    def install(self, add_hook: AddHook) -> None:
        """Hooks are added when they are needed: before the steps at which this is due."""
        self._add_hook = add_hook

    def _follow(self) -> None:
        """Follow the last trained parameter: it is nearest to the loss, so a cut-off part does not hide it."""
        parameters = self.training.parameters
        # A lazy parameter takes no hook before it has a shape.
        trained = [] if self.training.optimizer is None or parameters.lazy else parameters.trained()
        if self._add_hook is not None and trained:
            parameter = trained[-1][1]
            self._unfollow = self._add_hook(parameter.register_hook, lambda gradient: self._backward_reaches(parameter))

    def _backward_reaches(self, parameter: Any) -> None:
        training = self.training
        # Only the first of a step's backward passes: nothing has been accumulated yet.
        if self._left_over is None and training.schedule.due(self.id, training.cadence_step):
            with training.torch.no_grad():
                held = parameter.grad
                norm = 0.0 if held is None else training.torch.linalg.vector_norm(gradient_values(parameter).detach())
                self._left_over = norm * norm

    def before_step(self) -> dict[str, Any]:
        """Shares of zero and missing gradients."""
        torch, parameters = self.training.torch, self.training.parameters
        trained, found = parameters.trained(), parameters.with_gradients()
        missing = sum(p.grad is None for _, p in trained)
        values: dict[str, Any] = {"train/gradient_flow/none_share": missing / max(1, len(trained))}
        # Counts are exact in float32 up to 16 million per tensor, and close enough beyond.
        zeros = [_zeros(p) / parameters.shards.copies(p) for _, p in found]
        count = max(1, sum(p.numel() for _, p in found))
        left_over = self._left_over if self._left_over is None else torch.as_tensor(self._left_over)

        def finish(sums: Sequence[Any], _: Sequence[Any]) -> dict[str, Any]:
            if left_over is not None:
                values["train/gradient_flow/left_over"] = sums[-1].sqrt()
            if zeros:
                values["train/gradient_flow/zero_share"] = sums[0] / count
            return values

        sums = [torch.stack(parameters.on_one_device(zeros)).sum()] if zeros else []
        return self.training.of_whole_model(self.id, finish, sums=sums if left_over is None else [*sums, left_over])

    def step_ended(self) -> None:
        """Forget the leftover of this step. Follow the parameter if the next step will measure."""
        self._left_over = None
        step = self.training.cadence_step
        stride, self._last_step = max(1, step - self._last_step), step
        # By the time of the next step, the loop may have logged another one, usually as far away as the last.
        due = any(self.training.schedule.due(self.id, at) for at in (step, step + stride - 1))
        if due and self._unfollow is None:
            self._follow()
        elif not due and self._unfollow is not None:
            self._unfollow()
            self._unfollow = None


def _zeros(parameter: Any) -> Any:
    """How many values of the gradient are 0; those that a sparse gradient does not store are."""
    values = gradient_values(parameter)
    return (values == 0).sum().float() + (local(parameter.grad).numel() - values.numel())
