"""VRAM as torch's allocator counts it, for the process that trains."""

from __future__ import annotations

import sys
from typing import Any

from pulseboard.record.telemetry.source import Metric, Sample, Source, source

# As in the reference that names the tags, and in torch's own reports.
GB = 1 << 30

METRICS = {
    "memory/vram_allocated_gb": Metric("GiB", "occupied by tensors, on the GPU where this process has most"),
    "memory/vram_reserved_gb": Metric("GiB", "held by torch's allocator, on the GPU where this process has most"),
    "memory/vram_peak_gb": Metric("GiB", "the most that tensors have occupied on one GPU since the start"),
    "memory/allocator_segments": Metric("count", "pieces that torch's allocator has taken from the driver"),
    "memory/allocator_unused": Metric("GiB", "held in pieces that are too small for what was asked for since"),
    "memory/allocator_retries": Metric("count", "times the allocator had to give back everything and ask again"),
}


@source(id="torch_memory", metrics=METRICS)
class TorchMemory(Source):
    """Gives nothing until the job has imported torch and started CUDA; does neither itself.

    A sample takes 0.1 ms a GPU, in which torch lists its counters (measured on counters without a GPU).
    """

    def __init__(self, run_directory: str) -> None:
        self._peak_bytes = 0

    def sample(self, now_secs: float) -> Sample:
        """All of the tags, or none of them."""
        torch = torch_with_cuda()
        if torch is None:
            return Sample()
        # Every GPU: which one is current is known to the training thread only, not to ours.
        counts = [torch.cuda.memory_stats(gpu) for gpu in range(torch.cuda.device_count())]

        def most(name: str) -> int:
            return max((count.get(name, 0) for count in counts), default=0)

        # Kept here too, for a job that calls reset_peak_memory_stats now and then.
        self._peak_bytes = max(self._peak_bytes, most("allocated_bytes.all.peak"))
        return Sample(
            {
                "memory/vram_allocated_gb": most("allocated_bytes.all.current") / GB,
                "memory/vram_reserved_gb": most("reserved_bytes.all.current") / GB,
                "memory/vram_peak_gb": self._peak_bytes / GB,
                "memory/allocator_segments": float(most("segment.all.current")),
                "memory/allocator_unused": most("inactive_split_bytes.all.current") / GB,
                "memory/allocator_retries": float(most("num_alloc_retries")),
            }
        )


def loaded_torch() -> Any:
    """torch, if this process has imported it and is done with that; None otherwise."""
    torch = sys.modules.get("torch")
    being_imported = getattr(getattr(torch, "__spec__", None), "_initializing", False)
    return None if being_imported else torch


def torch_with_cuda() -> Any:
    """torch, if this process uses it with CUDA (or ROCm) already; None otherwise."""
    torch = loaded_torch()
    cuda = getattr(torch, "cuda", None)
    return torch if cuda is not None and cuda.is_initialized() else None
