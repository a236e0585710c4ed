"""W&B's own files, `run-<id>.wandb`: the records of a run before, or without, their upload.

A file is a log of records (parsing/record_log.py) that begins with ":W&B". Its records are protobuf messages, and the
values in them are JSON. They are read by field number, so W&B need not be installed.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

from pulseboard.read.format import Candidate, RunData, reader
from pulseboard.read.formats.json_records import cells_of
from pulseboard.read.parsing.growing import following
from pulseboard.read.parsing.numbers import json_number
from pulseboard.read.parsing.record_log import RecordLog
from pulseboard.read.parsing.series_builder import Rows
from pulseboard.tbformat.wire import BYTES, MalformedMessage, Message, read_fields

_MAGIC = b":W&B\xe1\xbe"

# Fields of a Record (wandb/proto/wandb_internal.proto).
_HISTORY, _CONFIG, _METRIC, _RUN = 2, 5, 12, 17
_KINDS = frozenset({_HISTORY, _CONFIG, _METRIC, _RUN})
# Fields of a HistoryRecord, and of its items.
_ITEM, _STEP = 1, 2
_ITEM_NAME, _ITEM_NESTED_NAME, _ITEM_VALUE = 1, 2, 16
_NAME_KEYS, _VALUE_KEY = (_ITEM_NAME << 3 | BYTES, _ITEM_NESTED_NAME << 3 | BYTES), bytes([0x80 | BYTES, 1])
_MIN_ITEM_BYTES = 5
_PLAIN_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]+)?(?:e-?[0-9]+)?")
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
                for number, wire, start, end in read_fields(payload, start=0, end=len(payload)):
                    if number in _KINDS and wire == BYTES:
                        self._add(number, payload, start, end)
                        break
            except (MalformedMessage, RecursionError) as error:
                self._log.skip(f"it is not a W&B record: {error}")

    def _add(self, kind: int, payload: bytes, start: int, end: int) -> None:
        """Take one record; its content is from byte `start` to `end`."""
        if kind == _HISTORY:
            self._rows.add(_row(payload, start, end))
            return
        content = Message(payload, start=start, end=end)
        if kind == _CONFIG:
            _update(self._config, content)
        elif kind == _RUN:
            _update(self._config, content.message(4))
        elif content.text(2) == "*" and content.text(4):
            self._step_metric = content.text(4)

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


def _row(payload: bytes, start: int, end: int) -> Iterator[tuple[str, float | str]]:
    """The numbers of a history. Its items are read without objects: a file has hundreds of thousands of them."""
    step = wandb_step = None
    for number, wire, first, last in read_fields(payload, start=start, end=end):
        if wire != BYTES:
            continue
        if number == _STEP:
            wandb_step = Message(payload, start=first, end=last).integer(1)
        if number != _ITEM:
            continue
        names, text = _item(payload, first, last)
        if not any(names):
            continue
        value = float(text) if _PLAIN_NUMBER.fullmatch(text) else _value(text)
        if isinstance(value, dict):
            # Media and histograms are objects with a type; their numbers are not metrics.
            if "_type" not in value:
                yield from cells_of(value, prefix="/".join(names) + "/")
        elif (parsed := json_number(value)) is not None:
            step = parsed if names == ["_step"] else step
            yield "/".join(names), parsed
    if step is None and wandb_step is not None:
        yield "_step", float(wandb_step)


def _item(payload: bytes, start: int, end: int) -> tuple[list[str], str]:
    """The names of an item, outermost first, and its value as JSON."""
    if found := _short_item(payload, start, end):
        return found
    name, names, value = "", [], ""
    for number, wire, first, last in read_fields(payload, start=start, end=end):
        if wire != BYTES:
            continue
        text = payload[first:last].decode("utf-8", "replace")
        if number == _ITEM_NAME:
            name = text
        elif number == _ITEM_NESTED_NAME:
            names.append(text)
        elif number == _ITEM_VALUE:
            value = text
    return [name] if name else names, value


def _short_item(payload: bytes, start: int, end: int) -> tuple[list[str], str] | None:
    """The same if it is one name and a value of less than 128 bytes each, as nearly all are; else None."""
    if end - start < _MIN_ITEM_BYTES or payload[start] not in _NAME_KEYS or payload[start + 1] > 127:
        return None
    value = start + 2 + payload[start + 1]
    # The value's field number takes two bytes, its length one.
    if payload[value : value + 2] != _VALUE_KEY or value + 2 >= end or value + 3 + payload[value + 2] != end:
        return None
    if payload[value + 2] > 127:
        return None
    return [payload[start + 2 : value].decode("utf-8", "replace")], payload[value + 3 : end].decode("utf-8", "replace")


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
