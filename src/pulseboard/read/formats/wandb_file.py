"""W&B's own files, `run-<id>.wandb`: the records of a run before, or without, their upload.

A file is a log of records (parsing/record_log.py) that begins with ":W&B". Its records are protobuf messages, and the
values in them are JSON. They are read by field number, so W&B need not be installed.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.formats.json_records import cells_of
from pulseboard.read.parsing.growing import following
from pulseboard.read.parsing.numbers import json_number
from pulseboard.read.parsing.record_log import RecordLog
from pulseboard.read.parsing.series_builder import Rows
from pulseboard.tbformat.wire import MalformedMessage, Message

_MAGIC = b":W&B\xe1\xbe"

# Fields of a Record (wandb/proto/wandb_internal.proto).
_HISTORY, _CONFIG, _METRIC, _RUN = 2, 5, 12, 17
_INTERNAL_NAMES = ("_step", "_runtime", "_timestamp", "_wandb")


def _is_wandb_file(candidate: Candidate) -> bool:
    return candidate.head.startswith(_MAGIC)


class WandbLog:
    """The history and configuration in a file."""

    def __init__(self, path: str) -> None:
        self._log = RecordLog(path)
        self._rows, self._config, self._step_metric = Rows(), dict[str, Any](), ""
        self._read()

    def read_on(self) -> bool:
        """Read the records that were added since. False if the file must be read from the start, in another object."""
        if not self._log.has_only_grown():
            return False
        self._read()
        return True

    def _read(self) -> None:
        for payload in self._log.records():
            try:
                self._add(Message(payload))
            except (MalformedMessage, RecursionError) as error:
                self._log.skip(f"it is not a W&B record: {error}")

    def _add(self, record: Message) -> None:
        if record.has(_HISTORY):
            self._rows.add(_row(record.message(_HISTORY)))
        elif record.has(_CONFIG):
            _update(self._config, record.message(_CONFIG))
        elif record.has(_RUN):
            _update(self._config, record.message(_RUN).message(4))
        elif record.has(_METRIC):
            metric = record.message(_METRIC)
            if metric.text(2) == "*" and metric.text(4):
                self._step_metric = metric.text(4)

    def runs(self) -> Iterator[RunData]:
        """The one run in it."""
        step_names = (self._step_metric, "trainer/global_step", "train/global_step", "_step")
        found = self._rows.series(step_names=step_names)
        series = {tag: one for tag, one in found.items() if tag not in _INTERNAL_NAMES}
        config = copy.deepcopy(self._config)
        config.pop("_wandb", None)
        yield RunData(series, config=config, notes=self._log.notes())


@reader(
    id="wandb",
    files=("*.wandb",),
    recognizes=_is_wandb_file,
    named_after_directory=True,
    owns_directory=True,
    follow=following(WandbLog, WandbLog.runs),
)
def read_wandb_file(path: str) -> Iterator[RunData]:
    """One run: its history and configuration. System statistics have no steps and are left out.

    Steps come from the step metric that `define_metric("*", ...)` set, or from the global_step of Lightning or
    the Trainer, or else from W&B's own count of log calls.
    """
    yield from WandbLog(path).runs()


def _row(history: Message) -> Iterator[tuple[str, float | str]]:
    step = None
    for item in history.messages(1):
        names = [item.text(1)] if item.has(1) else item.texts(2)
        if not any(names):
            continue
        value = _value(item.text(16))
        if isinstance(value, dict):
            # Media and histograms are objects with a type; their numbers are not metrics.
            if "_type" not in value:
                yield from cells_of(value, prefix="/".join(names) + "/")
        elif (number := json_number(value)) is not None:
            step = number if names == ["_step"] else step
            yield "/".join(names), number
    if step is None and history.has(2):
        yield "_step", float(history.message(2).integer(1))


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _update(config: dict[str, Any], message: Message) -> None:
    for item in message.messages(1):
        names = item.texts(2) or [item.text(1)]
        parent = config
        for name in names[:-1]:
            child = parent.setdefault(name, {})
            parent = child if isinstance(child, dict) else {}
        value = _value(item.text(16))
        # The server wraps the values of a configuration.
        parent[names[-1]] = value["value"] if isinstance(value, dict) and set(value) == {"value", "desc"} else value
