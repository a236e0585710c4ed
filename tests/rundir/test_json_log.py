import json
import math
from types import SimpleNamespace
from typing import Any

import pytest

from pulseboard.rundir import json_log
from pulseboard.rundir.json_log_metrics import metrics_of
from pulseboard.rundir.json_log_repair import complete_records, is_valid_array

# 2026-01-15 10:30:00.123456, whatever the local time zone is.
TIME = "2026-01-15T10:30:00.123456"
WALL_TIME = json_log.wall_time({"time": TIME})


def strictly(text: str | bytes) -> Any:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def made(kind: str, step: int = 100, **values: Any) -> list[tuple[str, Any]]:
    return list(json_log.make_record(kind, values, step=step, wall_time=WALL_TIME).items())


# ---------- the documented records, field by field and in order


def test_a_step_has_the_documented_fields() -> None:
    record = made("step", lr=0.0002, loss=2.3456, norm=0.1234, duration_ms=156, step_tokens=16384, epoch=1.25)
    assert record == [
        ("log", "step"), ("time", TIME), ("step", 100), ("epoch", 1.25), ("step_tokens", 16384),
        ("duration_ms", 156), ("norm", 0.1234), ("loss", 2.3456), ("lr", 0.0002),
    ]  # fmt: skip


def test_an_evaluation_has_the_documented_fields() -> None:
    record = made("eval", 500, epoch=1.5, eval_tokens=32768, duration_ms=234, loss=2.1234)
    assert record == [
        ("log", "eval"), ("time", TIME), ("step", 500), ("epoch", 1.5), ("eval_tokens", 32768),
        ("duration_ms", 234), ("loss", 2.1234),
    ]  # fmt: skip


def test_moe_stats_have_the_documented_fields() -> None:
    record = made("moe", aux_loss=0.0234, z_loss=0.0012, expert_utilization=0.9375, load_imbalance=1.45)
    assert record == [
        ("log", "moe"), ("time", TIME), ("step", 100), ("aux_loss", 0.0234), ("z_loss", 0.0012),
        ("expert_utilization", 0.9375), ("load_imbalance", 1.45),
    ]  # fmt: skip


GPU = {
    "id": 0, "clock": 1800, "max_clock": 2100, "fan": 65, "power": 350000, "power_limit": 400000, "temperature": 72,
    "temp_slowdown": 83, "gpu_util": 98, "mem_util": 85, "throttle": "", "dram_free": 8589934592,
    "pcie_rx": 1073741824, "pcie_tx": 536870912,
}  # fmt: skip


def test_a_gpu_state_has_the_documented_fields() -> None:
    assert made("gpu", **GPU) == [("log", "gpu"), ("time", TIME), ("step", 100), *GPU.items()]


def test_a_gpu_model_has_the_documented_fields() -> None:
    model = {
        "name": "NVIDIA H100 80GB HBM3", "sm_count": 132, "major": 9, "minor": 0, "memory": 85_000_000_000,
        "free": 84_000_000_000, "l2_size": 52428800, "uuid": "GPU-1", "ecc": True, "cuda_driver": 12040,
        "cuda_runtime": 12040,
    }  # fmt: skip
    record = made("gpu-model", 0, id=0, **model)
    assert record == [("log", "gpu-model"), ("time", TIME), ("step", 0), ("id", 0), *model.items()]


def test_an_estimate_has_the_documented_fields() -> None:
    estimate = {
        "blocks": 123_400_000_000, "lm_head": 45_600_000_000, "attention": 78_900_000_000, "tps": 156000,
        "tf32_peak": 494.7, "bf16_peak": 989.5, "fp16_peak": 989.5, "fp8_peak": 1979.0,
    }  # fmt: skip
    assert made("sol", 0, **estimate) == [("log", "sol"), ("time", TIME), ("step", 0), *estimate.items()]


def test_a_dataset_has_the_documented_fields() -> None:
    data = {"split": "train", "files": 8, "tokens": 10**9, "file_index": 3, "chunk_index": 17, "seed": 42}
    assert made("dataset", 0, **data) == [("log", "dataset"), ("time", TIME), ("step", 0), *data.items()]


WEIGHTS = {"name": "weights", "device": 4294967296, "managed": 0, "pinned": 0, "pageable": 0}
OPTIMIZER = {"name": "optimizer", "device": 2147483648, "managed": 0, "pinned": 8589934592, "pageable": 0}


def test_an_allocator_has_the_documented_fields() -> None:
    record = json_log.allocator_record([WEIGHTS, OPTIMIZER], step=0, wall_time=WALL_TIME)
    assert list(record.items()) == [
        ("log", "allocator"), ("time", TIME), ("step", 0), ("stats", [WEIGHTS, OPTIMIZER]),
    ]  # fmt: skip
    assert [list(item) for item in record["stats"]] == [["name", "device", "managed", "pinned", "pageable"]] * 2


@pytest.mark.parametrize(
    "stats",
    [
        {"weights": (4294967296, 0, 0, 0), "optimizer": (2147483648, 0, 8589934592, 0)},
        {"weights": 4294967296, "optimizer": {"device": 2147483648, "pinned": 8589934592}},
        [("weights", 4294967296), ("optimizer", (2147483648, 0, 8589934592))],
        [("weights", 4294967296, 0, 0, 0), ("optimizer", 2147483648, 0, 8589934592, 0)],
        [SimpleNamespace(**WEIGHTS), SimpleNamespace(**OPTIMIZER)],
    ],
)
def test_memory_may_be_given_in_many_ways(stats: Any) -> None:
    assert json_log.segments(stats) == [WEIGHTS, OPTIMIZER]


def test_an_object_works_like_a_mapping_and_missing_fields_are_null() -> None:
    record = json_log.make_record("gpu", SimpleNamespace(power=350000.4), step=1, wall_time=WALL_TIME)
    assert record["power"] == 350000
    assert record["fan"] is None
    assert list(record)[3:] == list(GPU)


def test_a_value_that_is_not_a_number_is_refused_by_its_name() -> None:
    with pytest.raises(ValueError, match=r"loss of a 'step' record must be a number or None, not 'low'"):
        made("step", loss="low")


def test_a_fraction_in_a_whole_field_is_rounded() -> None:
    assert dict(made("step", duration_ms=156.6))["duration_ms"] == 157


# ---------- text


def test_numbers_that_json_lacks_are_spelled() -> None:
    record = json_log.scalars_record({"a": math.nan, "b": math.inf, "c": -math.inf, "d": 1.5}, step=1, wall_time=0)
    assert strictly(json_log.encode(record))["values"] == {"a": "nan", "b": "inf", "c": "-inf", "d": 1.5}


def test_an_encoded_record_is_one_line_of_ascii() -> None:
    line = json_log.encode({"log": "dataset", "split": "größe\n\ud800", "files": 1})
    assert line.isascii()
    assert "\n" not in line
    assert strictly(line)["split"] == "größe\n\ud800"


def test_time_is_local_to_the_microsecond_and_read_back() -> None:
    assert json_log.time_text(WALL_TIME) == TIME
    assert json_log.time_text(json_log.wall_time({"time": "2026-01-15T10:30:00"})) == "2026-01-15T10:30:00.000000"
    assert math.isnan(json_log.wall_time({"time": "yesterday"}))


# ---------- repair

FIRST, SECOND = '{"log": "step", "step": 1}', '{"log": "allocator", "stats": [{"name": "a"}, {"name": "b"}]}'


@pytest.mark.parametrize("text", ["[]", "[\n\n]\n", f"[{FIRST}]", f"[\n{FIRST},\n{SECOND}    \n]\n", ' [{"a":\n1}] '])
def test_an_array_of_objects_is_valid(text: str) -> None:
    assert is_valid_array(text.encode())


@pytest.mark.parametrize(
    "text", ["", "[", f"[{FIRST}", f"[{FIRST},]", f"[{FIRST}]]", FIRST, "[1]", '[{"a": NaN}]', "[" * 100_000]
)
def test_anything_else_is_not_valid(text: str) -> None:
    assert not is_valid_array(text.encode())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"[\n{FIRST},\n{SECOND}", [FIRST, SECOND]),
        (f"[\n{FIRST},\n{SECOND[:-20]}", [FIRST]),
        (f"[\n{FIRST},\n{SECOND[:-20]}\n,{FIRST}]", [FIRST, FIRST]),
        (f"[\n{FIRST},\n{SECOND}]    ]", [FIRST, SECOND]),
        (f"{FIRST}\n{SECOND}\n", [FIRST, SECOND]),
        (f"[\n{FIRST}\0\0\0\0", [FIRST]),
        (f"\0\0\0{SECOND[5:]},\n{FIRST}\n]", [FIRST]),
        ('[{"loss": NaN}]', ['{"loss": "nan"}']),
        ("not a log at all", []),
        ("", []),
    ],
)
def test_every_complete_record_is_found(text: str, found: list[str]) -> None:
    assert complete_records(text.encode()) == found


def test_every_cut_of_an_array_keeps_the_records_before_it() -> None:
    whole = f"[\n{FIRST},\n{SECOND},\n{FIRST}\n]\n"
    ends = [whole.index(FIRST) + len(FIRST), whole.index(SECOND) + len(SECOND), whole.rindex(FIRST) + len(FIRST)]
    for cut in range(len(whole)):
        kept = complete_records(whole[:cut].encode())
        assert kept == [FIRST, SECOND, FIRST][: sum(cut >= end for end in ends)]


# ---------- names of metrics


def metrics(kind: str, style: Any, **values: Any) -> dict[str, float]:
    return metrics_of(json_log.make_record(kind, values, step=1, wall_time=0), style=style)


@pytest.mark.parametrize("style", ["wandb", "aim", "tensorboard"])
def test_a_step_has_its_throughput_as_well(style: str) -> None:
    found = metrics("step", style, epoch=1.25, step_tokens=16384, duration_ms=128, norm=0.5, loss=math.nan, lr=2e-4)
    assert math.isnan(found.pop("train/loss"))
    assert found == {
        "train/norm": 0.5, "train/lr": 2e-4, "train/epoch": 1.25, "train/step_tokens": 16384,
        "train/duration_ms": 128, "train/tokens_per_second": 128_000,
    }  # fmt: skip


def test_a_step_of_unknown_duration_has_no_throughput() -> None:
    assert "train/tokens_per_second" not in metrics("step", "wandb", step_tokens=16384, duration_ms=0)


def test_an_evaluation_is_named_eval() -> None:
    assert metrics("eval", "wandb", epoch=1.5, eval_tokens=1000, duration_ms=500, loss=2.0) == {
        "eval/loss": 2.0, "eval/epoch": 1.5, "eval/eval_tokens": 1000, "eval/duration_ms": 500,
        "eval/tokens_per_second": 2000,
    }  # fmt: skip


def test_moe_stats_are_named_moe() -> None:
    values = {"aux_loss": 0.1, "z_loss": 0.2, "expert_utilization": 0.9, "load_imbalance": 1.5}
    assert metrics("moe", "aim", **values) == {f"moe/{name}": value for name, value in values.items()}


def test_a_gpu_is_measured_in_mib() -> None:
    found = metrics("gpu", "wandb", **GPU)
    assert (found["gpu/dram_free"], found["gpu/pcie_rx"], found["gpu/pcie_tx"]) == (8192, 1024, 512)
    assert (found["gpu/power"], found["gpu/clock"], found["gpu/temperature"]) == (350000, 1800, 72)
    assert "gpu/throttle" not in found


@pytest.mark.parametrize(
    ("style", "id", "name"),
    [
        ("wandb", 0, "gpu/power"), ("wandb", 1, "gpu/1/power"), ("aim", 0, "gpu/0/power"),
        ("aim", 1, "gpu/1/power"), ("tensorboard", 0, "gpu/0/power"),
    ],
)  # fmt: skip
def test_a_gpu_is_named_by_its_number(style: str, id: int, name: str) -> None:
    assert name in metrics("gpu", style, **{**GPU, "id": id})


def test_memory_is_a_pie_or_a_metric_for_each_segment() -> None:
    record = json_log.allocator_record([WEIGHTS, OPTIMIZER], step=0, wall_time=0)
    assert metrics_of(record, style="wandb") == {"weights": 4096, "optimizer": 2048}
    assert metrics_of(record, style="aim") == {"allocator/weights_mib": 4096, "allocator/optimizer_mib": 2048}


def test_scalars_keep_their_names() -> None:
    record = json_log.scalars_record({"train/loss": 1.5, "mine": 2.0}, step=1, wall_time=0)
    assert metrics_of(record, style="wandb") == {"train/loss": 1.5, "mine": 2.0}


def test_records_without_numbers_have_no_metrics() -> None:
    assert metrics("dataset", "wandb", split="train", files=1) == {}
    assert metrics_of({"log": "info"}, style="wandb") == {}
