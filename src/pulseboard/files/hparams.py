"""Hyperparameters: the three records that a session writes, and the one object they make together."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

from pulseboard.core.values import HParamInfo, HParams, Interval, MetricInfo
from pulseboard.files.stored import StoredValue
from pulseboard.files.wire import BYTES, FIXED64, VARINT, MalformedMessage, Message

_EXPERIMENT, _SESSION_START, _SESSION_END = 2, 3, 4

_STATUS: dict[int, Literal["success", "failure", "running"]] = {1: "success", 2: "failure", 3: "running"}
_TYPES: dict[int, Literal["string", "bool", "float"]] = {1: "string", 2: "bool", 3: "float"}
_DATASETS: dict[int, Literal["training", "validation"]] = {1: "training", 2: "validation"}

# The fields of HParams that each record fills.
_FIELDS = {
    "experiment": ("name", "description", "user", "time_created", "hparam_infos", "metric_infos"),
    "session_start": ("values", "group_name", "model_uri", "monitor_url", "start_time"),
    "session_end": ("status", "end_time"),
}

# protobuf's own limit, so no writer's library could read deeper ones back.
_MAX_DEPTH = 100


def decode_hparams(value: StoredValue) -> HParams:
    """One record: everything is in the metadata, and a value may or may not stand beside it."""
    message = Message(value.metadata.content)
    found = message.which({_EXPERIMENT: BYTES, _SESSION_START: BYTES, _SESSION_END: BYTES})
    empty = HParams(step=value.step, wall_time=value.wall_time)
    return _RECORDS[found](message.message(found), empty) if found else empty


def hparams_from(records: Iterable[HParams]) -> HParams:
    """One object from the records of a run, in the order they were logged: a later one of a kind counts.

    The hyperparameters of all of them are put together, since frameworks log some now and the rest
    later (Lightning: those of the data, then those of the model). TensorBoard shows the first only.
    Step and wall time are those of the first.
    """
    records = list(records)
    if not records:
        raise ValueError("hparams_from needs at least one record")
    joined = records[0]
    for record in records[1:]:
        taken = {name: getattr(record, name) for kind in record.records for name in _FIELDS[kind]}
        taken["values"] = {**joined.values, **record.values}
        joined = replace(joined, records=joined.records | record.records, **taken)
    return joined


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
    """Writers that do not know the time leave it out, which reads as 1970."""
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
