"""Shards: which ranks hold the parts of a model (the DTensors of FSDP2), and how often a sum counts each parameter."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any


class Shards:
    """How a model's parameters are spread over ranks. Reads the layout only; never communicates."""

    def __init__(self, parameters: Iterable[Any]) -> None:
        sharded = [p for p in parameters if hasattr(p, "to_local")]
        self.sharded = bool(sharded)
        self._ranks = 1  # that a sum adds up
        if sharded:
            self._mesh, self._dims = sharded[0].device_mesh, {d for p in sharded for d in _sharded_dims(p)}
            self._ranks = math.prod(self._mesh.size(d) for d in self._dims)

    def copies(self, parameter: Any) -> int:
        """How many times a sum over the ranks counts this parameter."""
        if not hasattr(parameter, "to_local"):
            return self._ranks
        shards: int = math.prod(parameter.device_mesh.size(d) for d in _sharded_dims(parameter))
        return self._ranks // shards

    def ranks(self) -> list[int]:
        """The ranks that hold the parts of one copy of the model, this one among them."""
        mesh, place = self._mesh, self._mesh.get_coordinate()
        parts = mesh.mesh[tuple(slice(None) if d in self._dims else place[d] for d in range(mesh.ndim))]
        return [int(rank) for rank in parts.flatten()]


def local(tensor: Any) -> Any:
    """The part of a tensor that this rank holds."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def _sharded_dims(parameter: Any) -> list[int]:
    return [dim for dim, placement in enumerate(parameter.placements) if placement.is_shard()]
