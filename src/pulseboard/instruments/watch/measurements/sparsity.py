"""Sparsity: gradients that are missing, zero, or left over from the step before."""

from __future__ import annotations

from collections.abc import Sequence
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
        self._install_later: AddHook | None = None
        self._left_over: Any = None  # squared; None until a backward pass of this step has reached the parameter

    def install(self, add_hook: AddHook) -> None:
        """Follow the last trained parameter: it is nearest to the loss, so a cut-off part does not hide it."""
        trained = self.training.parameters.trained()
        if self.training.optimizer is None or not trained:
            return
        if self.training.parameters.lazy:  # takes no hook before it has a shape
            self._install_later = add_hook
        else:
            parameter = trained[-1][1]
            add_hook(parameter.register_hook, lambda gradient: self._backward_reaches(parameter))

    def _backward_reaches(self, parameter: Any) -> None:
        training = self.training
        # Only the first of a step's backward passes: nothing has been accumulated yet.
        if self._left_over is None and training.steps_done and training.schedule.due(self.id, training.cadence_step):
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
        """Forget the leftover of this step."""
        self._left_over = None
        if self._install_later is not None:
            add_hook, self._install_later = self._install_later, None
            self.install(add_hook)


def _zeros(parameter: Any) -> Any:
    """How many values of the gradient are 0; those that a sparse gradient does not store are."""
    values = gradient_values(parameter)
    return (values == 0).sum().float() + (local(parameter.grad).numel() - values.numel())
