"""Shards: sums and largest values over a whole model of which each rank may hold a part (FSDP2's DTensors)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any


class Shards:
    """How a model's parameters are spread over ranks. Of a model that is not, sums are as they are."""

    def __init__(self, torch: Any, parameters: Iterable[Any]) -> None:
        self._torch = torch
        spread = [p for p in parameters if hasattr(p, "to_local")]
        self.sharded = bool(spread)
        self._groups: list[Any] = []
        self._ranks = 1  # among which sums are taken
        if spread:
            mesh, dims = spread[0].device_mesh, {d for p in spread for d in _sharded_dims(p)}
            self._groups = [mesh.get_group(d) for d in sorted(dims)]
            self._ranks = math.prod(mesh.size(d) for d in dims)

    def copies(self, parameter: Any) -> int:
        """How often a sum over the ranks counts this parameter."""
        if not hasattr(parameter, "to_local"):
            return self._ranks
        own: int = math.prod(parameter.device_mesh.size(d) for d in _sharded_dims(parameter))
        return self._ranks // own

    def sum(self, values: Any) -> Any:
        """Each rank's values added up, in place."""
        for group in self._groups:
            self._torch.distributed.all_reduce(values, group=group)
        return values

    def max(self, values: Any) -> Any:
        """The largest of each rank's values, in place."""
        for group in self._groups:
            self._torch.distributed.all_reduce(values, op=self._torch.distributed.ReduceOp.MAX, group=group)
        return values


def local(tensor: Any) -> Any:
    """What this rank holds of a tensor."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def _sharded_dims(parameter: Any) -> list[int]:
    return [dim for dim, placement in enumerate(parameter.placements) if placement.is_shard()]
