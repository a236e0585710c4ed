"""Hyperparameters: the three records that a session writes, merged into one object."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

from pulseboard.core.values import HParamInfo, HParams, Interval, MetricInfo
from pulseboard.tbformat.stored_value import StoredValue, metadata_bytes, value_bytes
from pulseboard.tbformat.wire import (
    BYTES,
    FIXED64,
    VARINT,
    MalformedMessage,
    Message,
    bytes_field,
    double_field,
    text_field,
    varint_field,
)

_EXPERIMENT, _SESSION_START, _SESSION_END = 2, 3, 4

EXPERIMENT_TAG = "_hparams_/experiment"
SESSION_START_TAG = "_hparams_/session_start_info"
SESSION_END_TAG = "_hparams_/session_end_info"

HParam = float | str | bool
"""The types a hyperparameter can have on disk. None is left out; the caller converts everything else."""

_STATUS: dict[int, Literal["success", "failure", "running"]] = {1: "success", 2: "failure", 3: "running"}
_TYPES: dict[int, Literal["string", "bool", "float"]] = {1: "string", 2: "bool", 3: "float"}
_DATASETS: dict[int, Literal["training", "validation"]] = {1: "training", 2: "validation"}

# The fields of HParams that each record sets.
_FIELDS = {
    "experiment": ("name", "description", "user", "time_created", "hparam_infos", "metric_infos"),
    "session_start": ("values", "group_name", "model_uri", "monitor_url", "start_time"),
    "session_end": ("status", "end_time"),
}

# Protobuf's own limit: no library could read a deeper value back.
_MAX_DEPTH = 100


def decode_hparams(value: StoredValue) -> HParams:
    """Decode one record. Everything is in the metadata; a value may or may not be present."""
    message = Message(value.metadata.content)
    found = message.which({_EXPERIMENT: BYTES, _SESSION_START: BYTES, _SESSION_END: BYTES})
    empty = HParams(step=value.step, wall_time=value.wall_time)
    return _RECORDS[found](message.message(found), empty) if found else empty


def hparams_from(records: Iterable[HParams]) -> HParams:
    """Merge a run's records, in the order they were logged: of each kind, the last one counts.

    The hyperparameters of all of them are combined, because frameworks log some first and the rest later (Lightning:
    those of the data module, then those of the model). TensorBoard shows only the first. Step and wall time are those
    of the first.
    """
    records = list(records)
    if not records:
        raise ValueError("hparams_from needs at least one record")
    merged = records[0]
    for record in records[1:]:
        changes = {name: getattr(record, name) for kind in record.records for name in _FIELDS[kind]}
        changes["values"] = {**merged.values, **record.values}
        merged = replace(merged, records=merged.records | record.records, **changes)
    return merged


# ---------- the records


def _experiment(message: Message, empty: HParams) -> HParams:
    return replace(
        empty,
        records=frozenset({"experiment"}),
        name=message.text(6),
        description=message.text(1),
        user=message.text(2),
        time_created=_time(message, number=3),
        hparam_infos=tuple(map(_hparam_info, message.messages(4))),
        metric_infos=tuple(map(_metric_info, message.messages(5))),
    )


def _session_start(message: Message, empty: HParams) -> HParams:
    return replace(
        empty,
        records=frozenset({"session_start"}),
        values={entry.text(1): _plain(entry.message(2)) for entry in message.messages(1)},
        model_uri=message.text(2),
        monitor_url=message.text(3),
        group_name=message.text(4),
        start_time=_time(message, number=5),
    )


def _session_end(message: Message, empty: HParams) -> HParams:
    return replace(
        empty,
        records=frozenset({"session_end"}),
        status=_STATUS.get(message.integer(1), "unknown"),
        end_time=_time(message, number=2),
    )


_RECORDS = {_EXPERIMENT: _experiment, _SESSION_START: _session_start, _SESSION_END: _session_end}


def _time(message: Message, *, number: int) -> float | None:
    """A time, or None: writers that do not set it leave it out, which reads as 0."""
    return message.double(number) or None


def _hparam_info(message: Message) -> HParamInfo:
    return HParamInfo(
        name=message.text(1),
        display_name=message.text(2),
        description=message.text(3),
        type=_TYPES.get(message.integer(4), "unset"),
        domain=_domain(message),
    )


def _domain(message: Message) -> Interval | tuple[float | str | bool | None, ...] | None:
    discrete, interval = 5, 6
    found = message.which({discrete: BYTES, interval: BYTES})
    if found == interval:
        bounds = message.message(interval)
        return Interval(bounds.double(1), bounds.double(2))
    return tuple(map(_plain, message.message(discrete).messages(1))) if found else None


def _metric_info(message: Message) -> MetricInfo:
    name = message.message(1)
    return MetricInfo(
        group=name.text(1),
        tag=name.text(2),
        display_name=message.text(3),
        description=message.text(4),
        dataset=_DATASETS.get(message.integer(5), "unknown"),
    )


# ---------- google.protobuf.Value

_NULL, _NUMBER, _STRING, _BOOL, _STRUCT, _LIST = 1, 2, 3, 4, 5, 6
_WIRES = {_NULL: VARINT, _NUMBER: FIXED64, _STRING: BYTES, _BOOL: VARINT, _STRUCT: BYTES, _LIST: BYTES}


def _plain(message: Message) -> float | str | bool | None:
    """A number, string or bool; None for null; JSON text for a struct or a list."""
    value = _python(message, depth=0)
    return json.dumps(value) if isinstance(value, dict | list) else value


def _python(message: Message, *, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise MalformedMessage(f"A hyperparameter is nested more than {_MAX_DEPTH} deep", at=message.start)
    found = message.which(_WIRES)
    if found == _NUMBER:
        return message.double(_NUMBER)
    if found == _STRING:
        return message.text(_STRING)
    if found == _BOOL:
        return message.boolean(_BOOL)
    if found == _LIST:
        return [_python(item, depth=depth + 1) for item in message.message(_LIST).messages(1)]
    if found == _STRUCT:
        entries = message.message(_STRUCT).messages(1)
        return {entry.text(1): _python(entry.message(2), depth=depth + 1) for entry in entries}
    return None


# ---------- writing


def encode_hparams(
    values: Mapping[str, HParam | None],
    *,
    metrics: Iterable[str],
    domains: Mapping[str, Iterable[HParam]] | None = None,
) -> tuple[bytes, bytes, bytes]:
    """The three Summary.Values of a finished session: experiment, session start, session end."""
    return (
        encode_experiment(values, metrics=metrics, domains=domains),
        encode_session_start(values),
        encode_session_end("success"),
    )


def encode_experiment(
    values: Mapping[str, HParam | None],
    *,
    metrics: Iterable[str],
    domains: Mapping[str, Iterable[HParam]] | None = None,
) -> bytes:
    """Declares the hyperparameters, with their types and `domains`, and which scalars are metrics."""
    domains = domains or {}
    infos = b"".join(
        bytes_field(4, value=_info_bytes(name, value=value, domain=domains.get(name)))
        for name, value in values.items()
        if value is not None
    )
    metric_infos = b"".join(bytes_field(5, value=bytes_field(1, value=text_field(2, value=tag))) for tag in metrics)
    return _record_bytes(EXPERIMENT_TAG, number=_EXPERIMENT, record=infos + metric_infos)


def encode_session_start(
    values: Mapping[str, HParam | None], *, group_name: str = "", start_time: float | None = None
) -> bytes:
    """A session's hyperparameters."""
    entries = b"".join(
        bytes_field(1, value=text_field(1, value=name) + bytes_field(2, value=_value_bytes(value)))
        for name, value in values.items()
        if value is not None
    )
    group = text_field(4, value=group_name) if group_name else b""
    start = double_field(5, value=start_time) if start_time is not None else b""
    return _record_bytes(SESSION_START_TAG, number=_SESSION_START, record=entries + group + start)


def encode_session_end(status: Literal["success", "failure", "running"], *, end_time: float | None = None) -> bytes:
    """How a session ended."""
    number = next(number for number, name in _STATUS.items() if name == status)
    end = double_field(2, value=end_time) if end_time is not None else b""
    return _record_bytes(SESSION_END_TAG, number=_SESSION_END, record=varint_field(1, value=number) + end)


def _record_bytes(tag: str, *, number: int, record: bytes) -> bytes:
    # Metadata without a value: torch writes them this way, and readers look at nothing else.
    return value_bytes(tag, metadata=metadata_bytes("hparams", content=bytes_field(number, value=record)))


def _info_bytes(name: str, *, value: HParam, domain: Iterable[HParam] | None) -> bytes:
    kind = "string" if isinstance(value, str) else "bool" if isinstance(value, bool) else "float"
    number = next(number for number, known in _TYPES.items() if known == kind)
    info = text_field(1, value=name) + varint_field(4, value=number)
    if domain is None:
        return info
    return info + bytes_field(5, value=b"".join(bytes_field(1, value=_value_bytes(item)) for item in domain))


def _value_bytes(value: HParam) -> bytes:
    """A google.protobuf.Value."""
    if isinstance(value, str):
        return bytes_field(_STRING, value=value.encode("utf-8", "replace"))
    if isinstance(value, bool):
        return varint_field(_BOOL, value=value)
    return double_field(_NUMBER, value=value)
