"""Records of a small run, played to a sink."""

from __future__ import annotations

import importlib.util
import math
import struct
from pathlib import Path

import numpy as np

from pulseboard.core.values import Histogram
from pulseboard.record.sink import RunInfo
from pulseboard.record.sink_runner import SinkRunner

MIB = 1 << 20

WALL = 1_770_000_000.25

TIME = "2026-01-15T10:30:00.123456"

STEP = {
    "log": "step", "time": TIME, "step": 100, "epoch": 1.25, "step_tokens": 16384, "duration_ms": 156,
    "norm": 0.1234, "loss": 2.3456, "lr": 0.0002,
}  # fmt: skip

EVAL = {"log": "eval", "time": TIME, "step": 500, "epoch": 1.5, "eval_tokens": 32768, "duration_ms": 234, "loss": 2.125}

MOE = {
    "log": "moe", "time": TIME, "step": 100, "aux_loss": 0.0234, "z_loss": 0.0012, "expert_utilization": 0.9375,
    "load_imbalance": 1.45,
}  # fmt: skip

GPU = {
    "log": "gpu", "time": TIME, "step": 100, "id": 0, "clock": 1800, "max_clock": 2100, "fan": 65, "power": 350000,
    "power_limit": 400000, "temperature": 72, "temp_slowdown": 83, "gpu_util": 98, "mem_util": 85, "throttle": "",
    "dram_free": 8589934592, "pcie_rx": 1073741824, "pcie_tx": 536870912,
}  # fmt: skip

ALLOCATOR = {
    "log": "allocator", "time": TIME, "step": 0,
    "stats": [
        {"name": "weights", "device": 4096 * MIB, "managed": 0, "pinned": 0, "pageable": 0},
        {"name": "gradients", "device": 1024 * MIB, "managed": 0, "pinned": 0, "pageable": 0},
        {"name": "optimizer", "device": 2048 * MIB, "managed": 0, "pinned": 8192 * MIB, "pageable": 0},
    ],
}  # fmt: skip

GPU_MODEL = {"log": "gpu-model", "time": TIME, "step": 0, "id": 0, "name": "NVIDIA H100 80GB HBM3", "sm_count": 132}


def info(directory: Path, **settings: object) -> RunInfo:
    config = {"lr": 2e-4, "model": {"layers": 12}, "path": Path("/data"), "sizes": np.arange(2), "none": None}
    return RunInfo("2026-02-10_012", str(directory), config, ("first", "long"), "a try", settings)


def histogram(step: int = 3, *, buckets: int = 4) -> Histogram:
    edges = np.linspace(0.0, 4.0, buckets + 1)
    return Histogram(step=step, wall_time=WALL, lefts=edges[:-1], rights=edges[1:], counts=np.ones(buckets))


def png() -> bytes:
    """A picture of 2 x 1 pixels, one red and one blue."""
    import zlib

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 2, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\x00\xff\x00\x00\x00\x00\xff")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def play(id: str, run: RunInfo, *, status: str = "finished") -> None:
    """Send a sink one of everything, the way a run does."""
    runner = SinkRunner(id, run, strict=True)
    for step, loss in ((1, 2.0), (2, 1.5), (2, 1.25), (1, 9.0), (3, math.nan)):
        runner.send("scalars", {"train/loss": loss, "odd name @ 1": step}, step=step, wall_time=WALL + step)
    for record in (STEP, EVAL, MOE, GPU, {**GPU, "id": 1, "power": 250000}, ALLOCATOR, ALLOCATOR, GPU_MODEL):
        runner.send("record", record)
    runner.send("histogram", "weights/a", histogram())
    runner.send("text", "samples/text", "a <b> & c", step=3, wall_time=WALL)
    if id != "aim" or importlib.util.find_spec("PIL"):  # the real Aim brings it, its stand-in does not
        runner.send("image", "samples/image", png(), step=3, wall_time=WALL)
    runner.send("config", {"lr": 1e-4, "seed": 1})
    runner.send("flush")
    runner.close(status=status, timeout_secs=280)  # importing a tracker on a busy machine takes minutes
