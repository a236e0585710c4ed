"""Evaluations of detectron2, which prints the names of the values on the line before them.

copypaste: Task: bbox
copypaste: AP,AP50,AP75
copypaste: 10.9699,22.4369,9.2552           becomes  copypaste: bbox/AP: 10.9699, bbox/AP50: 22.4369, bbox/AP75: 9.2552
"""

from __future__ import annotations

import re

from pulseboard.read.parsing.line_table import LineTable

_MARK = b"copypaste: "
_LINE = re.compile(_MARK + rb"([^\r\n]*)")
_TASK = re.compile(rb"Task: ([\w\-]+)\s*")
_NAMES = re.compile(rb"[A-Za-z][\w\-]*(?:,[A-Za-z][\w\-]*)*\s*")
_VALUES = re.compile(rb"[-+\d.]\S*(?:,\S+)*\s*")


class NamedRows:
    """Feeds a table, with a name before every value. The names are those of detectron2's metrics.json."""

    def __init__(self, table: LineTable) -> None:
        self._table = table
        self._task = b""
        self._names: list[bytes] = []

    def feed(self, data: bytes, *, last: bool = False) -> int:
        """Take complete lines; returns the bytes used. With `last`, an unfinished line counts."""
        end = len(data) if last else data.rfind(b"\n") + 1
        if not end or _MARK not in data:
            return self._table.feed(data, last=last)
        self._table.feed(_LINE.sub(self._named, data[:end]), last=last)
        return end

    def _named(self, found: re.Match[bytes]) -> bytes:
        text = found[1]
        if task := _TASK.fullmatch(text):
            self._task, self._names = task[1], []
        elif _NAMES.fullmatch(text):
            self._names = text.strip().split(b",")
        elif _VALUES.fullmatch(text) and text.count(b",") + 1 == len(self._names):
            values = zip(self._names, text.strip().split(b","), strict=True)
            return _MARK + b", ".join(self._task + b"/" + name + b": " + value for name, value in values)
        return found[0]
