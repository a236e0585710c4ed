"""Shards: sums and maxima over a whole model when each rank holds a part of it (the DTensors of FSDP2)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any


class Shards:
    """How a model's parameters are spread over ranks. For an unsharded model, values are returned unchanged."""

    def __init__(self, torch: Any, parameters: Iterable[Any]) -> None:
        self._torch = torch
        sharded = [p for p in parameters if hasattr(p, "to_local")]
        self.sharded = bool(sharded)
        self._groups: list[Any] = []
        self._ranks = 1  # that a sum adds up
        if sharded:
            mesh, dims = sharded[0].device_mesh, {d for p in sharded for d in _sharded_dims(p)}
            self._groups = [mesh.get_group(d) for d in sorted(dims)]
            self._ranks = math.prod(mesh.size(d) for d in dims)

    def copies(self, parameter: Any) -> int:
        """How many times a sum over the ranks counts this parameter."""
        if not hasattr(parameter, "to_local"):
            return self._ranks
        shards: int = math.prod(parameter.device_mesh.size(d) for d in _sharded_dims(parameter))
        return self._ranks // shards

    def sum(self, values: Any) -> Any:
        """The values of all ranks added up, in place."""
        for group in self._groups:
            self._torch.distributed.all_reduce(values, group=group)
        return values

    def max(self, values: Any) -> Any:
        """The maximum over all ranks, in place."""
        for group in self._groups:
            self._torch.distributed.all_reduce(values, op=self._torch.distributed.ReduceOp.MAX, group=group)
        return values


def local(tensor: Any) -> Any:
    """The part of a tensor that this rank holds."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def _sharded_dims(parameter: Any) -> list[int]:
    return [dim for dim, placement in enumerate(parameter.placements) if placement.is_shard()]
