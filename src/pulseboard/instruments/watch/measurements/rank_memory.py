"""Rank memory: the memory of each rank's process."""

from __future__ import annotations

from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.watch.measurement import Measurement, measurement
from pulseboard.record.telemetry.sources.torch_memory import torch_with_cuda


@measurement(
    id="rank_memory",
    every=100,
    per_rank=True,
    metrics={
        "rank/memory_rss": Metric("bytes", "per rank: resident memory of its process", "equal and steady"),
        "rank/memory_allocated": Metric("bytes", "per rank: GPU memory occupied by tensors", "equal and steady"),
    },
)
class RankMemory(Measurement):
    """GPU memory only where CUDA is in use."""

    def after_step(self) -> dict[str, Any]:
        """Memory in use now."""
        values: dict[str, Any] = {}
        if self.training.counters is not None:
            values["rank/memory_rss"] = self.training.counters.process_bytes()
        torch = torch_with_cuda()
        if torch is not None:
            values["rank/memory_allocated"] = torch.cuda.memory_allocated()
        return values
