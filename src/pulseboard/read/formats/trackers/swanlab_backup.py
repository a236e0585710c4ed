"""SwanLab's own file, `*.swanlab`: records in the frame of W&B's files, after the letters ":SWL".

Version 1 of the file has records of JSON. Version 2 has protobuf messages, read by field number:
message Record { ScalarRecord scalar = 13; ... columns, media, console output }
message ScalarRecord { string key = 1; int64 step = 2; Timestamp timestamp = 4; ScalarValue value = 5; }
message Timestamp { int64 seconds = 1; int32 nanos = 2; }
message ScalarValue { double number = 1; }
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from typing import Any

from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.parsing.numbers import json_number, step_of, time_of
from pulseboard.read.parsing.record_log import RecordLog
from pulseboard.read.parsing.series_builder import SeriesBuilder
from pulseboard.read.parsing.yaml_file import yaml_mapping
from pulseboard.tbformat.wire import MalformedMessage, Message

_MAGIC = b":SWL"
_SCALAR = 13
# What SwanLab measures of the machine.
_SYSTEM = "__swanlab__"


def _is_swanlab(candidate: Candidate) -> bool:
    return candidate.head.startswith(_MAGIC)


@reader(id="swanlab", files=("*.swanlab",), recognizes=_is_swanlab, named_after_directory=True, owns_directory=True)
def read_swanlab(path: str) -> Iterator[RunData]:
    """One run: its scalars and its configuration. Measurements of the machine are left out."""
    log, builder = RecordLog(path), SeriesBuilder()
    config, notes = yaml_mapping(os.path.join(os.path.dirname(path), "files", "config.yaml"))
    for payload in log.records():
        try:
            if payload.startswith(b"{"):
                config |= _read_json(builder, payload)
            else:
                _read_message(builder, Message(payload))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            log.skip(f"it is not a SwanLab record: {error}")
    config = {str(name): _plain(value) for name, value in config.items()}
    yield RunData(builder.series(), config=config, notes=[*log.notes(), *notes])


def _read_json(builder: SeriesBuilder, payload: bytes) -> dict[str, Any]:
    """Add the point in a record, if there is one. Returns the configuration in it."""
    record = json.loads(payload)
    kind, data = record["model_type"], record["data"]
    if kind == "Scalar" and not str(data["key"]).startswith(_SYSTEM):
        metric = data["metric"]
        step, value = step_of(json_number(data["step"])), json_number(metric["data"])
        if step is None or value is None:
            raise ValueError("a scalar without a step or a number")
        wall_time = time_of(str(metric.get("create_time", "")))
        builder.add(str(data["key"]), step=step, value=value, wall_time=math.nan if wall_time is None else wall_time)
    return data["config"] if kind == "Runtime" and isinstance(data.get("config"), dict) else {}


def _read_message(builder: SeriesBuilder, record: Message) -> None:
    if not record.has(_SCALAR):
        return
    scalar = record.message(_SCALAR)
    key, step = scalar.text(1), scalar.integer(2)
    if not key:
        raise MalformedMessage("a scalar without a name", at=0)
    if not key.startswith(_SYSTEM):
        time = scalar.message(4)
        wall_time = time.integer(1) + time.integer(2) / 1e9 if scalar.has(4) else math.nan
        builder.add(key, step=step, value=scalar.message(5).double(1), wall_time=wall_time)


def _plain(value: Any) -> Any:
    """SwanLab keeps a value with its description and place."""
    return value["value"] if isinstance(value, dict) and "value" in value and "sort" in value else value
