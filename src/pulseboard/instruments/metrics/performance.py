"""Performance: time, throughput and GPU memory of a step."""

from __future__ import annotations

from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.registry import instrument
from pulseboard.record.telemetry.sources.torch_memory import GB, torch_with_cuda


@instrument(
    id="performance",
    every=100,
    metrics={
        "train/performance/forward_time_ms": Metric("ms", "time of the forward pass", "steady"),
        "train/performance/backward_time_ms": Metric(
            "ms", "time of the backward pass", "steady; 1-2 times the forward"
        ),
        "train/performance/total_time_ms": Metric("ms", "forward and backward together", "steady"),
        "train/performance/samples_per_second": Metric("1/s", "training samples per second", "steady"),
        "train/performance/forward_backward_ratio": Metric(
            "1", "forward time over backward time", "0.5-1.5; outside 0.3-2, check the timing code first"
        ),
        "train/performance/gpu_memory_allocated_gb": Metric("GiB", "GPU memory occupied by tensors", "steady"),
        "train/performance/gpu_memory_reserved_gb": Metric(
            "GiB", "GPU memory reserved by torch's allocator, used or not", "steady after the first steps"
        ),
    },
)
def performance(
    *,
    forward_secs: float,
    backward_secs: float,
    samples: int,
    step_secs: float | None = None,
    prefix: str = "train",
) -> dict[str, Any]:
    """Throughput is per `step_secs`, or per forward plus backward if not given. Memory only where CUDA is in use."""
    total_secs = forward_secs + backward_secs
    found = {
        "forward_time_ms": 1e3 * forward_secs,
        "backward_time_ms": 1e3 * backward_secs,
        "total_time_ms": 1e3 * total_secs,
        "samples_per_second": _ratio(samples, total_secs if step_secs is None else step_secs),
        "forward_backward_ratio": _ratio(forward_secs, backward_secs),
    }
    torch = torch_with_cuda()
    if torch is not None:
        found["gpu_memory_allocated_gb"] = torch.cuda.memory_allocated() / GB
        found["gpu_memory_reserved_gb"] = torch.cuda.memory_reserved() / GB
    return {f"{prefix}/performance/{name}": value for name, value in found.items()}


def _ratio(a: float, b: float) -> float:
    return a / b if b else float("nan")
