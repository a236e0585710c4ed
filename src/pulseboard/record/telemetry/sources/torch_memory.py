"""GPU memory of the training process, as torch's allocator counts it."""

from __future__ import annotations

import sys
from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.record.telemetry.source import Sample, Source, source

# As in the reference that defines the tags, and in torch's own reports.
GB = 1 << 30

TOTAL = "memory/vram_total_gb"
METRICS = {
    "memory/vram_allocated_gb": Metric("GiB", "used by tensors, on the GPU where this process uses most"),
    "memory/vram_reserved_gb": Metric("GiB", "reserved by torch's allocator, on the GPU where this process uses most"),
    "memory/vram_peak_gb": Metric("GiB", "peak use by tensors on one GPU since the start"),
    TOTAL: Metric("GiB", "what that GPU has"),
    "memory/allocator_segments": Metric("count", "segments that torch's allocator has reserved from the driver"),
    "memory/allocator_unused": Metric("GiB", "reserved in blocks that are too small for the requests since"),
    "memory/allocator_retries": Metric("count", "times the allocator had to free all cached memory and retry"),
}


@source(id="torch_memory", metrics=METRICS)
class TorchMemory(Source):
    """Logs nothing until the training has imported torch and started CUDA; does neither itself.

    A sample takes 0.1 ms per GPU, in which torch lists its counters (measured without a GPU).
    """

    def __init__(self, run_directory: str) -> None:
        self._peak_bytes = 0

    def sample(self, now_secs: float) -> Sample:
        """All tags, or none."""
        torch = torch_with_cuda()
        if torch is None:
            return Sample()
        # Every GPU, since only the training thread knows which one is current.
        gpus = range(torch.cuda.device_count())
        counts = [torch.cuda.memory_stats(gpu) for gpu in gpus]

        def maximum(name: str) -> int:
            return max((count.get(name, 0) for count in counts), default=0)

        # Kept here too, for trainings that call reset_peak_memory_stats.
        self._peak_bytes = max(self._peak_bytes, maximum("allocated_bytes.all.peak"))
        fullest = max(gpus, key=lambda gpu: counts[gpu].get("allocated_bytes.all.peak", 0), default=None)
        total = {} if fullest is None else {TOTAL: torch.cuda.get_device_properties(fullest).total_memory / GB}
        return Sample(
            {
                **total,
                "memory/vram_allocated_gb": maximum("allocated_bytes.all.current") / GB,
                "memory/vram_reserved_gb": maximum("reserved_bytes.all.current") / GB,
                "memory/vram_peak_gb": self._peak_bytes / GB,
                "memory/allocator_segments": float(maximum("segment.all.current")),
                "memory/allocator_unused": maximum("inactive_split_bytes.all.current") / GB,
                "memory/allocator_retries": float(maximum("num_alloc_retries")),
            }
        )


def loaded_torch() -> Any:
    """torch, if this process has completely imported it; None otherwise."""
    torch = sys.modules.get("torch")
    being_imported = getattr(getattr(torch, "__spec__", None), "_initializing", False)
    return None if being_imported else torch


def torch_with_cuda() -> Any:
    """torch, if this process has started CUDA (or ROCm) with it; None otherwise."""
    torch = loaded_torch()
    cuda = getattr(torch, "cuda", None)
    return torch if cuda is not None and cuda.is_initialized() else None
