"""What the sinks to experiment trackers share: typed records become scalars or config, a run goes on under its id."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Mapping
from typing import Any

from pulseboard.files import json_log
from pulseboard.record.report import say_once
from pulseboard.record.sink import RunInfo, Sink


class Tracker(Sink):
    """A sink to a tool that keeps runs of its own: it knows scalars and config, not our records."""

    style: json_log.Style = "aim"  # how records name their numbers there

    def record(self, record: dict[str, Any]) -> None:
        """Log a record's numbers as scalars, and what is true of the whole run as config."""
        if facts := facts_of(record):
            self.config(facts)
        if values := json_log.metrics_of(record, style=self.style):
            self.scalars(values, step=step_of(record), wall_time=wall_time_of(record))


def step_of(record: Mapping[str, Any]) -> int:
    """The step that a record belongs to; 0 where it does not say."""
    return int(record.get("step") or 0)


def wall_time_of(record: Mapping[str, Any]) -> float:
    """When a record was made; now where it does not say."""
    wall_time = json_log.wall_time(record)
    return time.time() if math.isnan(wall_time) else wall_time


def facts_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a record says of the whole run and not of a step: a GPU's model, a data set."""
    name = {"gpu-model": f"gpu_model/{record.get('id', 0)}", "dataset": f"dataset/{record.get('split')}"}
    if record.get("log") not in name:
        return {}
    return {name[record["log"]]: {key: value for key, value in record.items() if key not in ("log", "time", "step")}}


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration in the types that JSON has; what has none of them becomes its text."""
    told: dict[str, Any] = json.loads(json.dumps(dict(values), default=_plain, skipkeys=True))
    return told


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if hasattr(value, "tolist"):  # NumPy's numbers and arrays, torch's tensors
        return value.tolist()
    return str(value)


# ---------- the run's id in another tool, kept in the run's directory so that a resumed run goes on there


def _id_file(info: RunInfo, sink: str) -> str:
    return os.path.join(info.directory, "sinks", sink)


def earlier_id(info: RunInfo, *, sink: str) -> str | None:
    """The id under which an earlier session of this run is known to the tool; None for a new run."""
    try:
        with open(_id_file(info, sink), encoding="utf-8") as file:
            return file.read().strip() or None
    except OSError:
        return None


def keep_id(info: RunInfo, id: str, *, sink: str) -> None:
    """Remember the id for `earlier_id`."""
    path = _id_file(info, sink)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{id}\n")
    except OSError as error:
        say_once(f"sink id {sink}", f"sink {sink}: a resumed run will be a new run there: {error.strerror}. {path}")
