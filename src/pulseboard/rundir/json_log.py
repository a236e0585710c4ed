"""The JSON log: an array of records, one per call, that any JSON parser can read at any moment.

A record is an object. It starts with "log" (its kind), "time" (local, in microseconds) and "step", followed by the
fields of its kind, always all of them and in this order:

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
    scalars    values: an object of tag to number, for calls without a kind

NaN and infinities are the strings "nan", "inf" and "-inf". A value that the caller did not give is null. Everything
else is plain ASCII, so that a torn file is easy to repair.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from pulseboard.core.json_numbers import encode_numbers

Record = dict[str, Any]

NEW_SUFFIX = ".new"
"""Appended to a log's name: its next copy, while it is being made. May be deleted when nothing writes the log."""

DAMAGED_SUFFIX = ".damaged"
"""Appended to a log's name: the damaged file that was found there and repaired."""

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
"""The fields of each kind after "log", "time" and "step", and their types."""

MOE_IN_STEP = {"moe_aux_loss": "aux_loss", "moe_z_loss": "z_loss", "moe_load_imbalance": "load_imbalance"}
"""Extra fields of a step record when a mixture of experts is trained -> their names in a moe record."""

SEGMENT_FIELDS = ("device", "managed", "pinned", "pageable")
"""The kinds of memory that are counted for a segment of an allocator, in bytes."""

MIB = 1 << 20


# ---------- making records


def make_record(kind: str, values: Any, *, step: int, wall_time: float) -> Record:
    """A record of a kind in FIELDS, from a mapping or an object with attributes. Missing fields are None."""
    record: Record = {"log": kind, "time": time_text(wall_time), "step": step}
    get: Callable[[str], Any] = values.get if isinstance(values, Mapping) else partial(_attribute, values)
    for name, type_ in FIELDS[kind].items():
        try:
            record[name] = _CONVERT[type_](get(name))
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"{name} of a {kind!r} record must be {_TYPE_WORDS[type_]} or None, not {get(name)!r}."
            ) from None
    return record


def _attribute(values: Any, name: str) -> Any:
    return getattr(values, name, None)


def allocator_record(stats: Any, *, step: int, wall_time: float) -> Record:
    """A record of memory by segment; see `segments` for the forms that `stats` may have."""
    return {"log": "allocator", "time": time_text(wall_time), "step": step, "stats": segments(stats)}


def scalars_record(values: Mapping[str, float], *, step: int, wall_time: float) -> Record:
    """A record of numbers by tag."""
    return {"log": "scalars", "time": time_text(wall_time), "step": step, "values": dict(values)}


def completed(record: Mapping[str, Any], *, step: int, wall_time: float) -> Record:
    """The record with kind, time and step first; `step` and `wall_time` are used if it has none."""
    return {"log": record.get("log"), "time": time_text(wall_time), "step": step, **record}


def segments(stats: Any) -> list[dict[str, Any]]:
    """An allocator's segments, from objects with a name, or from a mapping or pairs of name and memory.

    Memory is a mapping or an object with the fields of SEGMENT_FIELDS, a sequence of their values, or one number:
    device bytes. Values that are not given are 0.
    """
    items = stats.items() if isinstance(stats, Mapping) else (_name_and_memory(item) for item in stats)
    return [{"name": str(name), **_memory(memory)} for name, memory in items]


def _name_and_memory(item: Any) -> tuple[Any, Any]:
    if isinstance(item, Mapping):
        return item["name"], item
    if isinstance(item, tuple | list):
        return item[0], item[1] if len(item) == 2 else item[1:]
    return item.name, item


def _memory(memory: Any) -> dict[str, int]:
    if isinstance(memory, Mapping):
        values = [memory.get(field) for field in SEGMENT_FIELDS]
    elif isinstance(memory, tuple | list):
        values = list(memory)
    elif hasattr(memory, "device"):
        values = [getattr(memory, field, None) for field in SEGMENT_FIELDS]
    else:
        values = [memory]
    values += [None] * (len(SEGMENT_FIELDS) - len(values))
    return {field: _integer(value) or 0 for field, value in zip(SEGMENT_FIELDS, values, strict=True)}


def _float(value: Any) -> float | None:
    return None if value is None else float(value)


def _integer(value: Any) -> Any:
    """A whole number; fractions are rounded, NaN and infinities are left as they are."""
    if value is None or value.__class__ is int:
        return value
    try:
        return operator.index(value)
    except TypeError:
        number = float(value)
        return round(number) if math.isfinite(number) else number


def _boolean(value: Any) -> bool | None:
    return None if value is None else bool(value)


def _string(value: Any) -> str:
    return "" if value is None else str(value)


_CONVERT: dict[type, Any] = {float: _float, int: _integer, bool: _boolean, str: _string}
_TYPE_WORDS: dict[type, str] = {float: "a number", int: "a whole number", bool: "true or false", str: "text"}


# ---------- encoding


def encode(record: Mapping[str, Any]) -> str:
    """The record as one line of strict JSON, without a line break."""
    try:
        return _encode_strictly(record)
    except ValueError:
        return _encode_strictly(encode_numbers(record))


_encode_strictly = json.JSONEncoder(allow_nan=False, default=str).encode


def time_text(wall_time: float) -> str:
    """A wall time as text for a record: 2026-01-15T10:30:00.123456, in local time."""
    return datetime.fromtimestamp(wall_time).isoformat(timespec="microseconds")


def wall_time(record: Mapping[str, Any]) -> float:
    """The wall time of a record; NaN if it has none."""
    try:
        return datetime.fromisoformat(record["time"]).timestamp()
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return math.nan
