"""What the sinks for experiment trackers share: records become scalars or config, and a resumed run keeps its id."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Mapping
from typing import Any

from pulseboard.record.messages import warn_once
from pulseboard.record.sink import RunInfo, Sink
from pulseboard.rundir import json_log
from pulseboard.rundir.json_log_metrics import Style, metrics_of


class Tracker(Sink):
    """A sink for a tool that has runs of its own. It takes scalars and config, not our records."""

    style: Style = "aim"  # the tool's names for the numbers of a record

    def record(self, record: dict[str, Any]) -> None:
        """Log the numbers of a record as scalars, and facts about the whole run as config."""
        if facts := facts_of(record):
            self.config(facts)
        if values := metrics_of(record, style=self.style):
            self.scalars(values, step=step_of(record), wall_time=wall_time_of(record))


def step_of(record: Mapping[str, Any]) -> int:
    """The step of a record; 0 if it has none."""
    return int(record.get("step") or 0)


def wall_time_of(record: Mapping[str, Any]) -> float:
    """The wall time of a record; now if it has none."""
    wall_time = json_log.wall_time(record)
    return time.time() if math.isnan(wall_time) else wall_time


def facts_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a record says about the whole run rather than a step: a GPU's model, a dataset."""
    name = {"gpu-model": f"gpu_model/{record.get('id', 0)}", "dataset": f"dataset/{record.get('split')}"}
    if record.get("log") not in name:
        return {}
    return {name[record["log"]]: {key: value for key, value in record.items() if key not in ("log", "time", "step")}}


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration in JSON's types; values of other types become text."""
    converted: dict[str, Any] = json.loads(json.dumps(dict(values), default=_plain, skipkeys=True))
    return converted


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if hasattr(value, "tolist"):  # NumPy numbers and arrays, torch tensors
        return value.tolist()
    return str(value)


# ---------- the run's id in another tool, kept in the run's directory so that a resumed run continues there


def _id_file(info: RunInfo, sink: str) -> str:
    return os.path.join(info.directory, "sinks", sink)


def earlier_id(info: RunInfo, *, sink: str) -> str | None:
    """The tool's id of this run from an earlier session; None for a new run."""
    try:
        with open(_id_file(info, sink), encoding="utf-8") as file:
            return file.read().strip() or None
    except OSError:
        return None


def keep_id(info: RunInfo, id: str, *, sink: str) -> None:
    """Save the id for `earlier_id`."""
    path = _id_file(info, sink)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{id}\n")
    except OSError as error:
        warn_once(
            f"sink id {sink}",
            f"sink {sink}: after a resume this run will be a new run there, because its id cannot be saved: "
            f"{error.strerror}. {path}",
        )
