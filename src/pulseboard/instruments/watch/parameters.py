"""Parameters of a model by name, and sums over those that this rank holds.

Everything is batched with torch's foreach kernels and stays on the tensors' device.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pulseboard.instruments.watch.module_tree import unwrapped_name
from pulseboard.instruments.watch.shards import Shards, local

NamedParameter = tuple[str, Any]


class Parameters:
    """The parameters of one model. Sums are this rank's shares of those of the whole model."""

    def __init__(self, torch: Any, model: Any) -> None:
        self._torch = torch
        self.all: list[NamedParameter] = [(unwrapped_name(name), p) for name, p in model.named_parameters()]
        self.shards = Shards(p for _, p in self.all)

    @property
    def lazy(self) -> bool:
        """Whether some parameters have no shape yet: those of lazy modules, before their first batch."""
        return any(self._torch.nn.parameter.is_lazy(p) for _, p in self.all)

    def trained(self) -> list[NamedParameter]:
        """The parameters that require gradients."""
        return [(name, p) for name, p in self.all if p.requires_grad]

    def with_gradients(self) -> list[NamedParameter]:
        """The parameters that have a gradient now."""
        return [(name, p) for name, p in self.all if p.grad is not None]

    def on_one_device(self, numbers: Any) -> list[Any]:
        """0-d tensors as float32 on the device of the first: a model may be spread over several devices."""
        device, dtype = numbers[0].device, self._torch.float32
        # Compared here, because a conversion that changes nothing takes four times as long.
        return [
            n if n.dtype is dtype and n.device == device else n.to(device, dtype, non_blocking=True) for n in numbers
        ]

    def sums(self, parameters: list[NamedParameter], tensors: list[Any], *, power: int) -> list[Any]:
        """The sum of absolute values (power 1) or squares (power 2) of each tensor, as this rank's share of the sum."""
        torch = self._torch
        sums = self.on_one_device(torch._foreach_norm(tensors, float(power)))
        if power == 2:
            sums = list(torch._foreach_mul(sums, sums))
        if self.shards.sharded:  # Python numbers: a tensor of them would be copied to the device
            sums = list(torch._foreach_div(sums, [float(self.shards.copies(p)) for _, p in parameters]))
        return sums

    def square_sum(self, parameters: list[NamedParameter], tensors: list[Any]) -> Any:
        """The sum of squares of all tensors together."""
        torch = self._torch
        if self.shards.sharded:
            return torch.stack(self.sums(parameters, tensors, power=2)).sum()
        norms = torch.stack(self.on_one_device(torch._foreach_norm(tensors)))
        return norms.dot(norms)

    def sums_by(
        self, group_of: Callable[[str], str], parameters: list[NamedParameter], sums: list[Any]
    ) -> dict[str, Any]:
        """The sum of each group, by the group's name."""
        groups: dict[str, list[Any]] = {}
        for (name, _), value in zip(parameters, sums, strict=True):
            groups.setdefault(group_of(name), []).append(value)
        return {group: self._torch.stack(values).sum() for group, values in groups.items()}


def gradient_values(parameter: Any) -> Any:
    """The gradient that this rank holds. Of a sparse one, the values that are stored; all others are 0."""
    gradient = local(parameter.grad)
    return gradient.coalesce().values() if gradient.is_sparse else gradient


def part_of(parameter: str) -> str:
    """The part of the model a parameter belongs to: the first word of its name, or "model" for a bare name."""
    head, dot, _ = parameter.partition(".")
    return head if dot else "model"


def layer_of(parameter: str) -> str:
    """The layer of a parameter: its name up to the first number, or its part if there is no number."""
    numbered = re.match(r"(?:[^.]+\.)*?\d+(?=\.)", parameter)
    return numbered[0] if numbered else part_of(parameter)
