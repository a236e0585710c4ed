"""TrainingRunLogger: the documented calls, in the file, on the console, in the callback and in sinks."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pulseboard.record.compat.training_run_logger import TrainingRunLogger
from pulseboard.record.console.console import LogVerbosity
from pulseboard.record.sink import RunInfo, sink_class
from pulseboard.record.sink_runner import SinkRunner
from pulseboard.rundir import json_log

TIME = "2026-01-15T10:30:00.123456"
STEP_FIELDS = ["log", "time", "step", "epoch", "step_tokens", "duration_ms", "norm", "loss", "lr"]
GPU = {
    "clock": 1800, "max_clock": 2100, "fan": 65, "power": 350000, "power_limit": 400000, "temperature": 72,
    "temp_slowdown": 83, "gpu_util": 98, "mem_util": 85, "throttle": "", "dram_free": 8589934592,
    "pcie_rx": 1073741824, "pcie_tx": 536870912,
}  # fmt: skip


def read(path: Path) -> list[dict[str, Any]]:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    found: list[dict[str, Any]] = json.loads(path.read_bytes(), parse_constant=refuse)
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "training.json"


def logger(path: Path | None, **options: Any) -> TrainingRunLogger:
    defaults = {"verbosity": LogVerbosity.SILENT, "strict": True, "clock": lambda: json_log.wall_time({"time": TIME})}
    return TrainingRunLogger(path, **{**defaults, **options})


def log_steps(log: TrainingRunLogger, *steps: int) -> None:
    for step in steps:
        log.log_step(step, 1.25, 16384, 156, 0.1234, 2.3456, 0.0002)


# ---------- the documented records


def test_the_documented_calls_make_the_documented_records(path: Path) -> None:
    """The examples of the reference, field by field and in order."""
    with logger(path) as log:
        log.log_step(100, 1.25, 16384, 156, 0.1234, 2.3456, 0.0002)
        log.log_eval(500, 1.5, 32768, 234, 2.1234)
        log.log_moe_stats(100, 0.0234, 0.0012, 0.9375, 1.45)
        log.log_step(100, 1.25, 16384, 156, 0.1234, 2.3456, 0.0002)
        log.log_gpu_state(100, 0, GPU)
        log.log_allocator(0, [{"name": "weights", "device": 4294967296, "managed": 0, "pinned": 0, "pageable": 0}])
    step = {
        "log": "step", "time": TIME, "step": 100, "epoch": 1.25, "step_tokens": 16384, "duration_ms": 156,
        "norm": 0.1234, "loss": 2.3456, "lr": 0.0002,
    }  # fmt: skip
    expected: list[dict[str, Any]] = [
        step,
        {
            "log": "eval", "time": TIME, "step": 500, "epoch": 1.5, "eval_tokens": 32768, "duration_ms": 234,
            "loss": 2.1234,
        },
        {
            "log": "moe", "time": TIME, "step": 100, "aux_loss": 0.0234, "z_loss": 0.0012,
            "expert_utilization": 0.9375, "load_imbalance": 1.45,
        },
        {**step, "moe_aux_loss": 0.0234, "moe_z_loss": 0.0012, "moe_load_imbalance": 1.45},
        {"log": "gpu", "time": TIME, "step": 100, "id": 0, **GPU},
        {
            "log": "allocator", "time": TIME, "step": 0,
            "stats": [{"name": "weights", "device": 4294967296, "managed": 0, "pinned": 0, "pageable": 0}],
        },
    ]  # fmt: skip
    assert [list(record.items()) for record in read(path)] == [list(record.items()) for record in expected]


def test_records_from_the_start_of_a_training_are_logged_too(path: Path) -> None:
    model = {
        "name": "NVIDIA H100 80GB HBM3", "sm_count": 132, "major": 9, "minor": 0, "memory": 85, "free": 84,
        "l2_size": 50, "uuid": "GPU-1", "ecc": True, "cuda_driver": 12040, "cuda_runtime": 12040,
    }  # fmt: skip
    estimate = {
        "blocks": 123, "lm_head": 45, "attention": 78, "tps": 156000, "tf32_peak": 1.0, "bf16_peak": 989.5,
        "fp16_peak": 2.0, "fp8_peak": 3.0,
    }  # fmt: skip
    with logger(path) as log:
        log.log_gpu_model(1, model)
        log.log_gpu_model(1, SimpleNamespace(**model))
        log.log_gpu_model(1, **model)
        log.log_sol_estimate(**estimate)
        log.log_dataset("train", 8, 10**9, 3, 17, 42)
    start = {"time": TIME, "step": 0}
    gpu = {"log": "gpu-model", **start, "id": 1, **model}
    data = {"split": "train", "files": 8, "tokens": 10**9, "file_index": 3, "chunk_index": 17, "seed": 42}
    expected = [gpu, gpu, gpu, {"log": "sol", **start, **estimate}, {"log": "dataset", **start, **data}]
    assert [list(record.items()) for record in read(path)] == [list(record.items()) for record in expected]


def test_a_dense_step_has_no_moe_fields(path: Path) -> None:
    with logger(path) as log:
        log_steps(log, 1)
    assert list(read(path)[0]) == STEP_FIELDS


@pytest.mark.parametrize(
    ("calls", "carriers"),
    [
        (["moe 1", "step 1", "step 2"], [1]),  # before the step: with that step
        (["step 1", "moe 1", "step 2", "step 3"], [2]),  # after it: with the next
        (["moe 1", "step 1", "moe 2", "step 2"], [1, 2]),
        (["moe 1", "step 1", "step 1"], [1, 1]),  # the step itself, however often
        (["step 1"], []),
    ],
)
def test_moe_stats_go_with_the_step_they_belong_to(calls: list[str], carriers: list[int], path: Path) -> None:
    with logger(path) as log:
        for call in calls:
            kind, step = call.split()
            if kind == "moe":
                log.log_moe_stats(int(step), 0.1, 0.2, 0.9, 1.5)
            else:
                log_steps(log, int(step))
    assert [r["step"] for r in read(path) if r["log"] == "step" and "moe_aux_loss" in r] == carriers


@pytest.mark.parametrize(("valid", "count"), [(True, 1), (False, 0)])
def test_the_moe_stats_of_a_trainer_are_accepted_unchanged(valid: bool, count: int, path: Path) -> None:
    stats = {"aux_loss": 0.1, "z_loss": 0.2, "expert_utilization": 0.9, "load_imbalance": 1.5, "valid": valid}
    with logger(path) as log:
        log.log_moe_stats(1, **stats)
    assert len(read(path)) == count


def test_a_gpu_may_be_an_object_or_keywords(path: Path) -> None:
    with logger(path) as log:
        log.log_gpu_state(100, 1, SimpleNamespace(**GPU, unknown=1))
        log.log_gpu_state(100, 1, **GPU)
        log.log_gpu_state(100, 1, {"power": 1}, power=2)
    first, second, third = read(path)
    assert list(first.items()) == list(second.items()) == [
        ("log", "gpu"), ("time", TIME), ("step", 100), ("id", 1), *GPU.items(),
    ]  # fmt: skip
    assert third["power"] == 2


def test_numbers_may_have_any_type(path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    with logger(path) as log:
        log.log_step(
            numpy.int64(1), numpy.float32(0.5), numpy.int32(7), 12.6, math.nan, numpy.float64("inf"), numpy.array(2e-4)
        )
    assert list(read(path)[0].values())[2:] == [1, 0.5, 7, 13, "nan", "inf", 2e-4]


def test_a_value_that_is_not_a_number_is_refused_and_nothing_is_written(path: Path) -> None:
    with logger(path) as log:
        with pytest.raises(ValueError, match="loss of a 'step' record must be a number"):
            log.log_step(1, 0.5, 7, 12, 0.1, "low", 2e-4)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="step must be a whole number"):
            log.log_step("first", 0.5, 7, 12, 0.1, 2.0, 2e-4)  # type: ignore[arg-type]
    assert read(path) == []


def test_the_time_is_that_of_the_call(path: Path) -> None:
    before = time.time()
    with logger(path, clock=time.time) as log:
        log_steps(log, 1)
    assert before - 1e-5 <= json_log.wall_time(read(path)[0]) <= time.time()


# ---------- the file


def test_the_file_is_an_array_after_every_call(path: Path) -> None:
    log = logger(path)
    assert read(path) == []
    for step in range(100):
        log_steps(log, step)
        assert len(read(path)) == step + 1
    log.close()
    assert len(read(path)) == 100


def test_a_second_run_appends(path: Path) -> None:
    for step in (1, 2):
        with logger(path) as log:
            log_steps(log, step)
    assert [record["step"] for record in read(path)] == [1, 2]


def test_a_second_logger_of_the_same_file_shares_it_with_the_first(path: Path) -> None:
    """As running a notebook's cell twice does."""
    log = logger(path)
    log_steps(log, 1)
    log = logger(path)
    log_steps(log, 2)
    log.close()
    assert [record["step"] for record in read(path)] == [1, 2]
    assert os.listdir(path.parent) == ["training.json"]


@pytest.mark.parametrize("nowhere", [None, "", os.devnull])
def test_without_a_path_there_is_no_file(nowhere: Any, capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []
    with TrainingRunLogger(nowhere, lines.append, -2, strict=True) as log:
        log_steps(log, 1)
        assert log.path is None
    assert len(lines) == 1


def test_directories_are_made(tmp_path: Path) -> None:
    with logger(tmp_path / "a" / "b" / "log.json") as log:
        assert log.path == str(tmp_path / "a" / "b" / "log.json")


def test_after_close_nothing_is_logged_and_that_is_reported_once(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = logger(path)
    log.close()
    log.close()
    log_steps(log, 1, 2)
    assert read(path) == []
    assert capsys.readouterr().err.count("\n") == 1


def test_threads_may_log(path: Path) -> None:
    with logger(path) as log:
        threads = [threading.Thread(target=log_steps, args=(log, *range(n, n + 250))) for n in (0, 250, 500, 750)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(record["step"] for record in read(path)) == list(range(1000))


PROCESS = """
import os, sys, time
import pulseboard.record.compat.training_run_logger as m
log = m.TrainingRunLogger(sys.argv[1], print, -2)
log.log_eval(1, 0.5, 10, 10, 2.0)
pid = os.fork()
if pid == 0:
    log.log_eval(2, 0.5, 10, 10, 2.0)
    sys.exit()
os.waitpid(pid, 0)
log.log_eval(3, 0.5, 10, 10, 2.0)
"""


def test_a_forked_child_logs_to_its_own_file_and_an_exit_leaves_a_tidy_file(path: Path) -> None:
    subprocess.run([sys.executable, "-c", PROCESS, str(path)], check=True, capture_output=True, timeout=300)
    assert [record["step"] for record in read(path)] == [1, 3]
    (other,) = [name for name in os.listdir(path.parent) if name != path.name]
    assert [record["step"] for record in read(path.with_name(other))] == [2]
    assert path.read_text().endswith("}\n]\n")


# ---------- callback and console


def test_the_callback_gets_each_record_as_a_line(path: Path) -> None:
    lines: list[str] = []
    with logger(path, callback=lines.append) as log:
        log_steps(log, 1)
        log.log_eval(1, 0.5, 10, 10, math.nan)
    assert [json.loads(line) for line in lines] == read(path)
    assert all("\n" not in line for line in lines)


def test_a_callback_that_raises_is_reported_once_and_dropped(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls = 0

    def callback(line: str) -> None:
        nonlocal calls
        calls += 1
        raise RuntimeError("no network")

    with logger(path, callback=callback, strict=False) as log:
        log_steps(log, 1, 2)
    assert calls == 1
    assert len(read(path)) == 2
    stderr = capsys.readouterr().err
    assert stderr.count("\n") == 1
    assert "no network" in stderr


def test_the_console_compares_steps_with_earlier_records(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with logger(path, verbosity=0, total_steps=800) as log:
        log.log_sol_estimate(123.4e9, 45.6e9, 78.9e9, 160_236, bf16_peak=989.5)
        log.log_moe_stats(100, 0.0234, 0.0012, 0.9375, 1.45)
        log.log_step(100, 1.25, 19547, 156, 0.1234, 2.3456, 2e-4)
        log.set_total_steps(400)
        log.log_step(100, 1.25, 19547, 156, 0.1234, 2.2, 2e-4)
        log.log_eval(100, 1.25, 33977, 234, 2.1234)
    assert capsys.readouterr().out.splitlines() == [
        "[Speed of Light]",
        "  Peak BF16:    989.5 TFLOP/s",
        "  Blocks:       123.4 GFLOP   in bf16",
        "  LM-Head:       45.6 GFLOP   in bf16",
        "  Attention:     78.9 GFLOP   in bf16",
        "  SOL:          160236 tok/s",
        ":: step     100 [ 12.5%]   loss 2.3456 | norm  0.1234 | 125.3k tps |   156 ms | aux 0.0234 | imbal 1.45"
        " | sol 78.2 | eta 00h01m",
        r":: step     100 [ 25.0%] \ loss 2.2000 | norm  0.1234 | 125.3k tps |   156 ms | aux 0.0234 | imbal 1.45"
        " | sol 78.2 | eta 00h00m",
        ">> eval                      loss 2.1234 | gap -0.1494 | 145.2k tps |   234 ms",
    ]


def test_the_files_of_a_dataset_are_listed_if_verbose(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with logger(path, verbosity=LogVerbosity.VERBOSE) as log:
        log.log_dataset("train", {"a.bin": 2000, "b.bin": 1000}, 3000, seed=1)
        log.log_dataset("eval", ["c.bin"], 10)
    assert [record["files"] for record in read(path)] == [2, 1]
    assert capsys.readouterr().out.splitlines() == [
        "[Dataset] train: 3.0k tokens in 2 files",
        "  at file 0, chunk 0; seed 1",
        "  a.bin: 2.0k tokens",
        "  b.bin: 1.0k tokens",
        "[Dataset] eval: 10 tokens in 1 file",
        "  at file 0, chunk 0; seed 0",
        "  c.bin",
    ]


# ---------- sinks


def test_records_are_passed_to_sinks(path: Path, tmp_path: Path) -> None:
    info = RunInfo("a", str(tmp_path), settings={"log_file": str(tmp_path / "again.json")})
    runner = SinkRunner("json", info, strict=True)
    with logger(path, sinks=[runner]) as log:
        log_steps(log, 1, 2)
    runner.close(status="finished")
    assert read(tmp_path / "again.json") == read(path)


def test_the_json_sink_writes_into_the_run(tmp_path: Path) -> None:
    sink = sink_class("json")(RunInfo("a", str(tmp_path)))
    sink.scalars({"train/loss": 2.5, "odd": math.nan}, step=3, wall_time=json_log.wall_time({"time": TIME}))
    sink.record({"log": "gpu", "time": TIME, "step": 3, "id": 0})
    sink.flush()
    sink.close(status="finished")
    assert [list(record.items()) for record in read(tmp_path / "training.json")] == [
        [("log", "scalars"), ("time", TIME), ("step", 3), ("values", {"train/loss": 2.5, "odd": "nan"})],
        [("log", "gpu"), ("time", TIME), ("step", 3), ("id", 0)],
    ]


def test_telemetry_without_time_and_step_gets_the_current_ones(tmp_path: Path) -> None:
    sink = sink_class("json")(RunInfo("a", str(tmp_path)))
    sink.scalars({"train/loss": 2.5}, step=3, wall_time=0.0)
    before = time.time()
    sink.record({"log": "gpu", "id": 0, "power": 1})
    sink.close(status="finished")
    record = read(tmp_path / "training.json")[1]
    assert list(record) == ["log", "time", "step", "id", "power"]
    assert record["step"] == 3
    assert before - 1e-5 <= json_log.wall_time(record) <= time.time()


@pytest.mark.parametrize(("count", "records"), [(100, 1), (1000, 8)])
def test_many_scalars_of_one_call_are_split_to_fit_a_page(count: int, records: int, tmp_path: Path) -> None:
    values = {f"layers/{n:04}/norm": float(n) for n in range(count)}
    sink = sink_class("json")(RunInfo("a", str(tmp_path)))
    sink.scalars(values, step=3, wall_time=0.0)
    sink.close(status="finished")
    found = read(tmp_path / "training.json")
    assert len(found) == records
    assert {name: value for record in found for name, value in record["values"].items()} == values
    assert {record["step"] for record in found} == {3}
