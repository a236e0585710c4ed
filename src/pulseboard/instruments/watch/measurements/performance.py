"""Performance: where the time of a step goes, throughput, and memory."""

from __future__ import annotations

from typing import Any

from pulseboard.core.metric import Metric
from pulseboard.instruments.watch.measurement import Measurement, measurement


@measurement(
    id="performance",
    every=100,
    metrics={
        "train/performance/forward_time_ms": Metric("ms", "forward, averaged since last logged", "steady"),
        "train/performance/backward_time_ms": Metric("ms", "backward, and everything up to the step", "steady"),
        "train/performance/total_time_ms": Metric("ms", "forward plus backward", "steady"),
        "train/performance/optimizer_time_ms": Metric("ms", "the optimizer's step", "steady"),
        "train/performance/data_time_ms": Metric(
            "ms", "from the end of a step to the next forward", "small and steady"
        ),
        "train/performance/step_time_ms": Metric("ms", "from the end of one step to the end of the next", "steady"),
        "train/performance/samples_per_second": Metric("1/s", "samples per second on this rank", "steady"),
        "train/performance/tokens_per_second": Metric(
            "1/s", "tokens per second on this rank, if the model takes token ids", "steady"
        ),
        "train/performance/forward_backward_ratio": Metric("1", "forward time over backward time", "0.5-1.5"),
        "train/performance/memory_rss": Metric("bytes", "resident memory of the process", "steady; growth is a leak"),
        "train/performance/gpu_memory_allocated_gb": Metric("GiB", "GPU memory occupied by tensors", "steady"),
        "train/performance/gpu_memory_reserved_gb": Metric("GiB", "GPU memory reserved by torch", "steady"),
    },
)
class Performance(Measurement):
    """Averages over the steps since the last measurement."""

    def after_step(self) -> dict[str, Any]:
        """Times and throughput; nothing before the second step."""
        values: dict[str, Any] = dict(self.training.clock.averages())
        if values and self.training.counters is not None:
            values["train/performance/memory_rss"] = self.training.counters.process_bytes()
        return values
