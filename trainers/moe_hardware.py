"""Records about the hardware for the JSON log of trainers/moe.py, and the measured peak rate of a device."""

import math
import time

import torch

import pulseboard as pb


def measured_peak(device: str) -> float:
    """Operations per second of the fastest of five matrix products."""
    a = torch.ones(512, 512, device=device)
    best = math.inf
    for _ in range(5):
        started_at = time.perf_counter()
        float((a @ a)[0, 0])
        best = min(best, time.perf_counter() - started_at)
    return 2 * 512**3 / best


def log_gpu_model(logger: pb.TrainingRunLogger, device: str) -> None:
    """Which GPU this is."""
    gpu = torch.cuda.get_device_properties(device)
    logger.log_gpu_model(
        gpu.index if hasattr(gpu, "index") else 0,
        name=gpu.name,
        sm_count=gpu.multi_processor_count,
        major=gpu.major,
        minor=gpu.minor,
        memory=gpu.total_memory,
        free=torch.cuda.mem_get_info(device)[0],
        l2_size=gpu.L2_cache_size,
        uuid=str(gpu.uuid),
    )


def log_gpu_state(logger: pb.TrainingRunLogger, step: int, device: str) -> None:
    """The GPU's state with all its fields, as Pulseboard's telemetry reads them through NVML."""
    from pulseboard.record.telemetry.sources.gpu import gpu_states

    index = torch.device(device).index or 0
    for state in gpu_states():
        if state.pop("id") == index:
            logger.log_gpu_state(step, index, state)
