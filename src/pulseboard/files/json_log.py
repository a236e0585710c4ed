"""The JSON log: an array of records, one for each call, that any JSON parser reads at any moment.

A record is an object. It begins with "log" (its kind), "time" (local, to the microsecond) and
"step"; then come the fields of its kind, always all of them and in this order:

    step       epoch step_tokens duration_ms norm loss lr, and for a mixture of experts
               moe_aux_loss moe_z_loss moe_load_imbalance
    eval       epoch eval_tokens duration_ms loss
    moe        aux_loss z_loss expert_utilization load_imbalance
    gpu        id clock max_clock fan power power_limit temperature temp_slowdown gpu_util mem_util
               throttle dram_free pcie_rx pcie_tx
    gpu-model  id name sm_count major minor memory free l2_size uuid ecc cuda_driver cuda_runtime
    sol        blocks lm_head attention tps tf32_peak bf16_peak fp16_peak fp8_peak
    allocator  stats: a list of {name device managed pinned pageable}
    dataset    split files tokens file_index chunk_index seed
    scalars    values: an object of metric name to number, for calls that know no kind

JSON has no word for NaN and infinities: they are the strings "nan", "inf" and "-inf". What the
caller did not know is null. Everything else is plain ASCII, so that a torn file is easy to mend.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Literal

Record = dict[str, Any]

FILE_NAME = "training.json"
"""The log's name in a run's directory, unless another is asked for."""

NEW_SUFFIX = ".new"
"""Behind a log's name: its next copy, while it is being made. May be deleted when nobody writes the log."""

DAMAGED_SUFFIX = ".damaged"
"""Behind a log's name: what was found there, and could not be read whole, before it was mended."""

FIELDS: dict[str, dict[str, type]] = {
    "step": {
        "epoch": float, "step_tokens": int, "duration_ms": int, "norm": float, "loss": float, "lr": float,
    },
    "eval": {"epoch": float, "eval_tokens": int, "duration_ms": int, "loss": float},
    "moe": {"aux_loss": float, "z_loss": float, "expert_utilization": float, "load_imbalance": float},
    "gpu": {
        "id": int, "clock": int, "max_clock": int, "fan": int, "power": int, "power_limit": int, "temperature": int,
        "temp_slowdown": int, "gpu_util": int, "mem_util": int, "throttle": str, "dram_free": int, "pcie_rx": int,
        "pcie_tx": int,
    },
    "gpu-model": {
        "id": int, "name": str, "sm_count": int, "major": int, "minor": int, "memory": int, "free": int,
        "l2_size": int, "uuid": str, "ecc": bool, "cuda_driver": int, "cuda_runtime": int,
    },
    "sol": {
        "blocks": int, "lm_head": int, "attention": int, "tps": int, "tf32_peak": float, "bf16_peak": float,
        "fp16_peak": float, "fp8_peak": float,
    },
    "dataset": {
        "split": str, "files": int, "tokens": int, "file_index": int, "chunk_index": int, "seed": int,
    },
}  # fmt: skip
"""The fields behind "log", "time" and "step" of each kind, and what they hold."""

MOE_IN_STEP = {"moe_aux_loss": "aux_loss", "moe_z_loss": "z_loss", "moe_load_imbalance": "load_imbalance"}
"""Fields that a step record has besides where a mixture of experts trains, by their names in a moe record."""

SEGMENT_FIELDS = ("device", "managed", "pinned", "pageable")
"""The kinds of memory that an allocator's segment counts, in bytes."""

MIB = 1 << 20


# ---------- making records


def make_record(kind: str, values: Any, *, step: int, wall_time: float) -> Record:
    """A record of a kind in FIELDS, from a mapping or an object with attributes. What is missing is None."""
    made: Record = {"log": kind, "time": time_text(wall_time), "step": step}
    find: Callable[[str], Any] = values.get if isinstance(values, Mapping) else partial(_attribute, values)
    for name, wanted in FIELDS[kind].items():
        try:
            made[name] = _READ[wanted](find(name))
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"{name} of a {kind!r} record must be {_WORDS[wanted]}, and is {find(name)!r}. Pass it as one, or None."
            ) from None
    return made


def _attribute(values: Any, name: str) -> Any:
    return getattr(values, name, None)


def allocator_record(stats: Any, *, step: int, wall_time: float) -> Record:
    """A record of memory by segment; see `segments` for what `stats` may be."""
    return {"log": "allocator", "time": time_text(wall_time), "step": step, "stats": segments(stats)}


def scalars_record(values: Mapping[str, float], *, step: int, wall_time: float) -> Record:
    """A record of any numbers by name."""
    return {"log": "scalars", "time": time_text(wall_time), "step": step, "values": dict(values)}


def completed(record: Mapping[str, Any], *, step: int, wall_time: float) -> Record:
    """The record with its kind, time and step first, where whoever made it left time and step to others."""
    return {"log": record.get("log"), "time": time_text(wall_time), "step": step, **record}


def segments(stats: Any) -> list[dict[str, Any]]:
    """An allocator's segments, from objects with a name, or from a mapping or pairs of name and memory.

    Memory is a mapping or an object with the fields of SEGMENT_FIELDS, their values in that order, or
    one number: device bytes. What is not given is 0.
    """
    items = stats.items() if isinstance(stats, Mapping) else (_named(item) for item in stats)
    return [{"name": str(name), **_memory(memory)} for name, memory in items]


def _named(item: Any) -> tuple[Any, Any]:
    if isinstance(item, Mapping):
        return item["name"], item
    if isinstance(item, tuple | list):
        return item[0], item[1] if len(item) == 2 else item[1:]
    return item.name, item


def _memory(memory: Any) -> dict[str, int]:
    if isinstance(memory, Mapping):
        found = [memory.get(field) for field in SEGMENT_FIELDS]
    elif isinstance(memory, tuple | list):
        found = list(memory)
    elif hasattr(memory, "device"):
        found = [getattr(memory, field, None) for field in SEGMENT_FIELDS]
    else:
        found = [memory]
    found += [None] * (len(SEGMENT_FIELDS) - len(found))
    return {field: _integer(value) or 0 for field, value in zip(SEGMENT_FIELDS, found, strict=True)}


def _real(value: Any) -> float | None:
    return None if value is None else float(value)


def _integer(value: Any) -> Any:
    """A whole number; a fraction is rounded. NaN and infinities stay what they are."""
    if value is None or value.__class__ is int:
        return value
    try:
        return operator.index(value)
    except TypeError:
        real = float(value)
        return round(real) if math.isfinite(real) else real


def _boolean(value: Any) -> bool | None:
    return None if value is None else bool(value)


def _string(value: Any) -> str:
    return "" if value is None else str(value)


_READ: dict[type, Any] = {float: _real, int: _integer, bool: _boolean, str: _string}
_WORDS: dict[type, str] = {float: "a number", int: "a whole number", bool: "true or false", str: "a text"}


# ---------- text


def encode(record: Mapping[str, Any]) -> str:
    """The record as one line of strict JSON, without a line break."""
    try:
        return _strict(record)
    except ValueError:
        return _strict(_spelled(record))


_strict = json.JSONEncoder(allow_nan=False, default=str).encode


def _spelled(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    if isinstance(value, Mapping):
        return {str(key): _spelled(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(item) for item in value]
    return value


def time_text(wall_time: float) -> str:
    """Seconds since 1970 as a record has them: 2026-01-15T10:30:00.123456, in local time."""
    return datetime.fromtimestamp(wall_time).isoformat(timespec="microseconds")


def wall_time(record: Mapping[str, Any]) -> float:
    """When a record was made, in seconds since 1970; NaN where it does not say."""
    try:
        return datetime.fromisoformat(record["time"]).timestamp()
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return math.nan


def number(value: Any) -> float | None:
    """A number as a record holds it, be it spelled 'nan'; None for what is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and value not in ("nan", "inf", "-inf"):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if int(value) > 0 else -math.inf


# ---------- mending


def is_sound(data: bytes) -> bool:
    """Whether these bytes are an array of objects in strict JSON."""
    try:
        found = json.loads(data.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, list) and all(isinstance(item, dict) for item in found)


def _refuse(word: str) -> float:
    raise ValueError(word)


_WELL_BEGUN = re.compile(r"\s*\[?\s*\{")
_NEXT_RECORD = re.compile(r"\{")
_NEXT_LINE = re.compile(r"\n[\s,\x00]*(?=\{)")


def complete_records(data: bytes) -> list[str]:
    """Every record that is whole in damaged bytes, as lines of strict JSON, in their order.

    Behind a damaged place a record counts only if it begins a line and says its kind, so that a piece
    of a broken record is not taken for one.
    """
    text = data.decode("utf-8", "replace")
    decoder, found, at, past_damage = json.JSONDecoder(), [], 0, not _WELL_BEGUN.match(text)
    while begin := (_NEXT_LINE if past_damage else _NEXT_RECORD).search(text, at):
        start = begin.end() if past_damage else begin.start()
        try:
            record, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            at, past_damage = start + 1, True
            continue
        if past_damage and "log" not in record:
            at = start + 1
            continue
        found.append(encode(record))
        at, past_damage = end, False
    return found


# ---------- names of metrics

Style = Literal["wandb", "aim", "tensorboard"]

_TRAIN = ("loss", "norm", "lr", "epoch", "step_tokens", "duration_ms")
_EVAL = ("loss", "epoch", "eval_tokens", "duration_ms")
_IN_MIB = ("dram_free", "pcie_rx", "pcie_tx")


def metrics_of(record: Mapping[str, Any], *, style: Style) -> dict[str, float]:
    """The numbers of a record under the names that a backend shows them by. Empty for what has none.

    step       train/loss train/norm train/lr train/epoch train/step_tokens train/duration_ms
               train/tokens_per_second
    eval       eval/loss eval/epoch eval/eval_tokens eval/duration_ms eval/tokens_per_second
    moe        moe/aux_loss moe/z_loss moe/expert_utilization moe/load_imbalance
    gpu        gpu/0/power and so on; in wandb's style gpu/power for GPU 0, gpu/1/power for the next.
               dram_free is in MiB, pcie_rx and pcie_tx in MiB/s; throttle is a text, and left out
    allocator  allocator/weights_mib and so on, device memory in MiB; in wandb's style the slices of
               a pie, segment name to MiB
    sol        sol/tps and so on
    scalars    as they were logged
    """
    kind = record.get("log")
    if kind == "step":
        return _progress(record, area="train", fields=_TRAIN, tokens="step_tokens")
    if kind == "eval":
        return _progress(record, area="eval", fields=_EVAL, tokens="eval_tokens")
    if kind == "moe":
        return _numbers(record, fields=FIELDS["moe"], prefix="moe/")
    if kind == "sol":
        return _numbers(record, fields=FIELDS["sol"], prefix="sol/")
    if kind == "gpu":
        id = record.get("id") or 0
        prefix = "gpu/" if style == "wandb" and id == 0 else f"gpu/{id}/"
        found = _numbers(record, fields=[name for name in FIELDS["gpu"] if name != "id"], prefix=prefix)
        return {name: value / MIB if name.endswith(_IN_MIB) else value for name, value in found.items()}
    if kind == "allocator":
        name = "{}" if style == "wandb" else "allocator/{}_mib"
        return {name.format(item["name"]): (number(item["device"]) or 0.0) / MIB for item in record.get("stats", ())}
    if kind == "scalars":
        values = record.get("values", {})
        return _numbers(values, fields=values, prefix="")
    return {}


def _progress(record: Mapping[str, Any], *, area: str, fields: Iterable[str], tokens: str) -> dict[str, float]:
    found = _numbers(record, fields=fields, prefix=f"{area}/")
    rate = tokens_per_second(record, tokens=tokens)
    return found if rate is None else {**found, f"{area}/tokens_per_second": rate}


def tokens_per_second(record: Mapping[str, Any], *, tokens: str) -> float | None:
    """The throughput of a step or an evaluation; None where its duration is not known."""
    count, duration_ms = number(record.get(tokens)), number(record.get("duration_ms"))
    if count is None or duration_ms is None or not duration_ms > 0:
        return None
    return count / duration_ms * 1000


def _numbers(record: Mapping[str, Any], *, fields: Iterable[str], prefix: str) -> dict[str, float]:
    found = ((name, number(record.get(name))) for name in fields)
    return {prefix + name: value for name, value in found if value is not None}
