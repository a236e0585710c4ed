"""The console output of a whole training, and the console sink."""

from __future__ import annotations

import io
import math
from typing import Any

import pytest
from record.console.console_records import EVAL, SOL, STEP, compare

from pulseboard.record.console.console import Console, LogVerbosity
from pulseboard.record.console.console import lines as lines
from pulseboard.record.sink import RunInfo, sink_class
from pulseboard.rundir import json_log

# ---------- a whole training


def training() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The records of a short training, with the details that the console gets."""

    def made(kind: str, step: int = 0, **values: Any) -> dict[str, Any]:
        return json_log.make_record(kind, values, step=step, wall_time=1_770_000_000.0)

    gpu = {
        "clock": 1800, "max_clock": 2100, "fan": 65, "power": 350000, "power_limit": 400000, "temperature": 72,
        "temp_slowdown": 83, "gpu_util": 98, "mem_util": 85, "dram_free": 8589934592, "pcie_rx": 1073741824,
        "pcie_tx": 536870912,
    }  # fmt: skip
    model = {
        "name": "NVIDIA H100 80GB HBM3", "sm_count": 132, "major": 9, "minor": 0, "memory": 85520809984,
        "free": 84987740160, "l2_size": 52428800, "uuid": "GPU-5a1c", "ecc": True, "cuda_driver": 12040,
        "cuda_runtime": 12040,
    }  # fmt: skip
    memory = {"weights": (4294967296, 0, 0, 0), "optimizer": (2147483648, 0, 8589934592, 0), "lora": 0}
    files = [("shards/000.bin", 700_000_000), ("shards/001.bin", 500_000_000)]
    records: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (made("gpu-model", id=0, **model), {}),
        (made("dataset", split="train", files=2, tokens=1_200_000_000, seed=42), {"files": files}),
        (made("dataset", split="eval", files=1, tokens=950, file_index=0, chunk_index=3, seed=7), {}),
        (json_log.allocator_record(memory, step=0, wall_time=0.0), {}),
        ({**SOL, "time": ""}, {}),
    ]
    losses = [3.2, 2.9, 2.7, 2.75, 2.5, 2.4, math.nan, 2.3, 2.2, 2.1]
    norms = [0.9, 0.8, 0.7, 0.75, 0.7, 4.9, math.nan, 0.7, 0.7, 0.65]
    for n, (loss, norm) in enumerate(zip(losses, norms, strict=True)):
        step, epoch = 1000 * n, n / 8
        values: dict[str, Any] = {
            "epoch": epoch,
            "step_tokens": 16384,
            "duration_ms": 130 + n,
            "loss": loss,
            "norm": norm,
        }
        record = made("step", step, lr=2e-4, **values)
        if n >= 6:
            record |= {"moe_aux_loss": 0.0234, "moe_z_loss": 0.0012, "moe_load_imbalance": 1.45}
        records.append((record, {}))
        if n % 4 == 3:
            throttle = "" if n == 3 else "thermal"
            records.append((made("gpu", step, id=0, throttle=throttle, **gpu), {}))
            records.append((made("eval", step, epoch=epoch, eval_tokens=33977, duration_ms=234, loss=2.8), {}))
    return records


@pytest.mark.parametrize(
    ("verbosity", "total_steps", "name"),
    [
        (LogVerbosity.MINIMAL, None, "console_minimal.txt"),
        (LogVerbosity.DEFAULT, None, "console_default.txt"),
        (LogVerbosity.DEFAULT, 100_000, "console_with_total_steps.txt"),
        (LogVerbosity.VERBOSE, None, "console_verbose.txt"),
    ],
)
def test_the_output_of_a_whole_training(verbosity: LogVerbosity, total_steps: int | None, name: str) -> None:
    stream = io.StringIO()
    console = Console(stream=stream, verbosity=verbosity, total_steps=total_steps)
    for record, details in training():
        console.show(record, **details)
    compare(stream.getvalue(), name)


# ---------- the sink


def test_the_sink_prints_scalars_and_records(capsys: pytest.CaptureFixture[str]) -> None:
    sink = sink_class("console")(RunInfo("a", ".", {"max_steps": 1000}, settings={"verbosity": 0}))
    sink.scalars({"train/loss": 2.3456}, step=100, wall_time=0.0)
    sink.record(EVAL)
    sink.close(status="finished")
    assert capsys.readouterr().out.splitlines() == [
        ":: step     100 [ 10.0%]   train/loss 2.3456",
        ">> eval                      loss 2.1234 | gap -0.2222 | 145.2k tps |   234 ms",
    ]


def test_the_sink_follows_its_verbosity(capsys: pytest.CaptureFixture[str]) -> None:
    sink = sink_class("console")(RunInfo("a", ".", settings={"verbosity": -1}))
    sink.scalars({"train/loss": 2.3456}, step=100, wall_time=0.0)
    sink.record(STEP)
    assert capsys.readouterr().out == ""
