"""Lines whose names or split are in the lines before them.

Detectron2 prints the names of values on a line of their own:

copypaste: Task: bbox
copypaste: AP,AP50,AP75
copypaste: 10.9699,22.4369,9.2552           becomes  copypaste: bbox/AP: 10.9699, bbox/AP50: 22.4369, bbox/AP75: 9.2552

Others announce an evaluation:

Testing in eval mode...
epoch: 0, loss is: 0.4866, acc is: 0.8353   becomes  [val] epoch: 0, loss is: 0.4866, acc is: 0.8353
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulseboard.read.parsing.line_file import Table
from pulseboard.read.parsing.line_table import LineTable

_MARK = b"copypaste: "
_LINE = re.compile(_MARK + rb"([^\r\n]*)")
_TASK = re.compile(rb"Task: ([\w\-]+)\s*")
_NAMES = re.compile(rb"[A-Za-z][\w\-]*(?:,[A-Za-z][\w\-]*)*\s*")
_VALUES = re.compile(rb"[-+\d.]\S*(?:,\S+)*\s*")

_SPLIT = b"[val] "
# A line without numbers that announces an evaluation: Testing..., === Validation ===, Start evaluating on the test set
_REST = (
    rb"(?:[^\w\r\n]+(?:in|on|the|of|eval|val|test|validation|mode|phase|stage|set|results?|metrics"
    rb"|starts?|started|begins?))*[^\w\r\n]*(?:\r\n|\n|\r)"
)
_BEGINNING = re.compile(rb"[^\w\r\n]*(?:(?:[Ss]tart(?:ing)?|[Bb]egin(?:ning)?|[Nn]ow) )?(?:[Tt]|[Ee]v|[Vv])$")
# One pattern per word: a search for fixed letters at the start of a pattern is ten times as fast as for alternatives.
_WORDS = (
    re.compile(rb"esting" + _REST),
    re.compile(rb"aluati(?:ng|on)" + _REST),
    re.compile(rb"alidati(?:ng|on)" + _REST),
)
_MAX_BEGINNING_BYTES = 40
_ANY_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r)")
_DIGIT = re.compile(rb"\d")
_COUNT = re.compile(rb"epoch|step|iter|batch", re.IGNORECASE)


class NamedRows:
    """Feeds a table, with a name before every value. The names are those of detectron2's metrics.json."""

    def __init__(self, table: LineTable) -> None:
        self._table = table
        self._task = b""
        self._names: list[bytes] = []

    def feed(self, data: bytes, *, last: bool = False) -> int:
        """Take complete lines; returns the bytes used. With `last`, an unfinished line counts."""
        end = len(data) if last else _end_of_lines(data)
        if not end or _MARK not in data:
            return self._table.feed(data, last=last)
        self._table.feed(_LINE.sub(self._named, data[:end]), last=True)
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


class EvaluationLines:
    """Feeds a table, with a mark before the results of an evaluation that the line before them announces.

    Those are the line after it, and the lines after that up to one without numbers or with a count.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._place = 0  # of the next line after the announcement, from 1; 0 if it belongs to none

    def feed(self, data: bytes, *, last: bool = False) -> int:
        """Take complete lines; returns the bytes used. With `last`, an unfinished line counts."""
        end = len(data) if last else _end_of_lines(data)
        announcements = list(_announcements(data, end))
        if not end or not (self._place or announcements):
            return self._table.feed(data, last=last)
        self._table.feed(self._marked(data[:end], announcements), last=True)
        return end

    def marked(self, line: bytes) -> bytes:
        """An unfinished line as it would be fed."""
        return _SPLIT + line if self._is_result(line) else line

    def _marked(self, data: bytes, announcements: list[int]) -> bytes:
        pieces: list[bytes] = []
        begin = 0  # of what is not among the pieces yet
        for at in [0, *announcements]:
            if at:
                self._place = 1
            while self._place and (line := _ANY_LINE.match(data, at)):
                if not self._is_result(line[0]):
                    self._place = 0
                    break
                pieces += [data[begin:at], _SPLIT]
                begin, at = at, line.end()
                self._place += 1
        return b"".join([*pieces, data[begin:]])

    def _is_result(self, line: bytes) -> bool:
        return self._place > 0 and _DIGIT.search(line) is not None and (self._place == 1 or _COUNT.search(line) is None)


def _end_of_lines(data: bytes) -> int:
    """Where the last complete line ends. A last \\r may be half of a line break."""
    return max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1)) + 1


def _announcements(data: bytes, end: int) -> Iterator[int]:
    """Where the lines that announce an evaluation end, in order."""
    for found in sorted((found for word in _WORDS for found in word.finditer(data, 0, end)), key=re.Match.start):
        before = data[max(0, found.start() - _MAX_BEGINNING_BYTES) : found.start()]
        if _BEGINNING.match(before, max(before.rfind(b"\n"), before.rfind(b"\r")) + 1):
            yield found.end()
