"""W&B's own files, `run-<id>.wandb`: the records of a run before, or without, their upload.

A file is a log in LevelDB's form behind a head of seven bytes; its records are protobuf messages, and the
values within them JSON. Read by their field numbers, so that W&B need not be installed.

    head     ":W&B", the number 0xBEE1, a version byte of 0
    block    32 KiB; pieces do not cross its end, and what is shorter than a piece's head is padding
    piece    u32 CRC-32 of type and data, u16 length, u8 type: 1 whole, 2 first, 3 middle, 4 last
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator
from typing import Any

from pulseboard.core.note import Note
from pulseboard.files.wire import MalformedMessage, Message
from pulseboard.read.points import Rows, plain_number
from pulseboard.read.reader import History, Opening, reader
from pulseboard.read.readers.json_history import cells_of

_HEAD = b":W&B\xe1\xbe"
_HEAD_BYTES = 7
_BLOCK = 32 << 10
_PIECE_HEAD = struct.Struct("<IHB")
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_MOST_RECORD_BYTES = 256 << 20

# Fields of a Record (wandb/proto/wandb_internal.proto).
_HISTORY, _CONFIG, _METRIC, _RUN = 2, 5, 12, 17
_OWN = ("_step", "_runtime", "_timestamp", "_wandb")


def _is_wandb_file(opening: Opening) -> bool:
    return opening.data.startswith(_HEAD)


@reader(id="wandb", files=("*.wandb",), sees=_is_wandb_file, names_directory=True, closed=True)
def read_wandb_file(path: str) -> Iterator[History]:
    """One run: its history and configuration. The machine's statistics have no steps and are left out.

    Steps are those of the metric that `define_metric` gave to everything, or of Lightning's or the Trainer's
    global_step, or else W&B's own count of log calls.
    """
    log = _Log(path)
    rows, config, step_metric = Rows(), dict[str, Any](), ""
    for payload in log.records():
        try:
            record = Message(payload)
            if record.has(_HISTORY):
                rows.add(_row(record.message(_HISTORY)))
            elif record.has(_CONFIG):
                _update(config, record.message(_CONFIG))
            elif record.has(_RUN):
                _update(config, record.message(_RUN).message(4))
            elif record.has(_METRIC):
                metric = record.message(_METRIC)
                if metric.text(2) == "*" and metric.text(4):
                    step_metric = metric.text(4)
        except (MalformedMessage, RecursionError) as error:
            log.leave_out(f"it is no record of W&B's: {error}")
    found = rows.series(steps=(step_metric, "trainer/global_step", "train/global_step", "_step"))
    series = {tag: one for tag, one in found.items() if tag not in _OWN}
    config.pop("_wandb", None)
    yield History(series, config=config, notes=log.notes())


def _row(history: Message) -> Iterator[tuple[str, float | str]]:
    step = None
    for item in history.messages(1):
        names = [item.text(1)] if item.has(1) else item.texts(2)
        value = _value(item.text(16))
        if isinstance(value, dict):
            # Media and histograms are objects with a type, which are no numbers of the run's.
            if "_type" not in value:
                yield from cells_of(value, above="/".join(names) + "/")
        elif (number := plain_number(value)) is not None:
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
        at = config
        for name in names[:-1]:
            below = at.setdefault(name, {})
            at = below if isinstance(below, dict) else {}
        value = _value(item.text(16))
        # A configuration that went through the server has its values wrapped.
        at[names[-1]] = value["value"] if isinstance(value, dict) and set(value) == {"value", "desc"} else value


class _Log:
    """The records of a file, in order."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._notes: list[Note] = []
        self._left_out = 0
        self._at = _HEAD_BYTES

    def records(self) -> Iterator[bytes]:
        """Each record's bytes. A damaged one is skipped with what is left of its block; a torn tail ends it quietly."""
        size = os.path.getsize(self.path)
        parts: list[bytes] = []
        with open(self.path, "rb") as stream:
            stream.seek(_HEAD_BYTES)
            at = _HEAD_BYTES
            while at < size:
                left = _BLOCK - at % _BLOCK
                if left < _PIECE_HEAD.size:
                    stream.seek(left, os.SEEK_CUR)
                    at += left
                    continue
                self._at = at
                head = stream.read(_PIECE_HEAD.size)
                if len(head) < _PIECE_HEAD.size:
                    self._torn()
                    return
                checksum, length, kind = _PIECE_HEAD.unpack(head)
                if not any(head):  # zeros that were set aside for a block: nothing was written there
                    at = self._next_block(stream, at)
                    continue
                if length > left - _PIECE_HEAD.size or not _WHOLE <= kind <= _LAST:
                    self.leave_out("its head is damaged")
                    parts, at = [], self._next_block(stream, at)
                    continue
                data = stream.read(length)
                if len(data) < length:
                    self._torn()
                    return
                at += _PIECE_HEAD.size + length
                if zlib.crc32(data, zlib.crc32(bytes([kind]))) != checksum:
                    self.leave_out("its checksum does not hold")
                    parts = []
                elif kind == _WHOLE:
                    yield data
                elif kind == _FIRST:
                    parts = [data]
                elif parts and sum(map(len, parts)) < _MOST_RECORD_BYTES:
                    parts.append(data)
                    if kind == _LAST:
                        yield b"".join(parts)
                        parts = []
        if parts:
            self._torn()

    def _next_block(self, stream: Any, at: int) -> int:
        at += _BLOCK - at % _BLOCK
        stream.seek(at)
        return at

    def leave_out(self, why: str) -> None:
        """Count a record that cannot be used; the first few are told one by one."""
        self._left_out += 1
        if self._left_out <= 3:
            self._notes.append(
                Note("damage", f"Skipped 1 record: {why}. Later records were read.", self.path, self._at)
            )

    def _torn(self) -> None:
        what = "The last record is not whole: the file was cut there, or is still being written."
        self._notes.append(Note("info", what, self.path, self._at))

    def notes(self) -> list[Note]:
        """What was wrong."""
        if self._left_out > 3:
            further = Note("damage", f"Skipped {self._left_out - 3} further damaged records.", self.path)
            return [*self._notes, further]
        return self._notes
