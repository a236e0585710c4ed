"""A table of numbers from text lines: the compiled scanner finds the numbers, a function names them once per shape."""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pulseboard.kernel import lines as kernel
from pulseboard.read.appending.growing_array import GrowingArray
from pulseboard.read.axis.build import Column
from pulseboard.read.parsing.block import Block, joined, with_last

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pulseboard.read.parsing.block import Pieces

MAX_SHAPES = kernel.MAX_SHAPES
# Chunks of at least this size are worth a thread.
_MIN_THREADED_BYTES = 1 << 20
_MAX_HEADING_BYTES = 80
# Memory is reserved for somewhat more lines than a file seems to have, up to 128 MB per column.
_SPARE_LINES, _MAX_ROOM = 1.05, 1 << 24
_DIGITS = b"0123456789"

TIME, UTC = "(local time)", "(utc time)"
"""The columns of dates in the lines of a log, in seconds since 1970. Local times are as if they were UTC."""


@dataclass(frozen=True, slots=True)
class Token:
    """A number in a line: what stands before it since the number before, its text, and its value.

    In delimited lines every cell is a token, also those that hold no number. In a table with headings, what stands
    before the first number may begin with the line before.
    """

    before: str
    text: str
    after: str  # up to the next number, or to the end of the line
    value: float
    kind: int  # NUMBER, TIME, UTC, EMPTY or WORD of the kernel

    @property
    def time_column(self) -> str:
        """The column for a date: of wall times, or of local times that were read as if they were UTC."""
        return UTC if self.kind == kernel.UTC else TIME

    @property
    def is_time(self) -> bool:
        """Whether it is a date and time of day."""
        return self.kind in (kernel.TIME, kernel.UTC)


@dataclass(frozen=True, slots=True)
class LinePlan:
    """What the numbers of lines of one shape are."""

    columns: tuple[tuple[int, str, float], ...]  # place among the tokens, column, factor
    new_row: bool = True  # false: the line adds to the row of the line before


@dataclass(slots=True)
class PlanUse:
    """A plan, and the lines it was used for."""

    plan: LinePlan
    places: tuple[int, ...]  # of the plan's columns, among the tokens that have values
    count: int = 0
    first_line: int = 0  # from 1


class Rows:
    """The state of a table, with what its unfinished line would add. Valid until the table is fed again."""

    def __init__(self, table: LineTable, last: LineTable | None, uses: list[PlanUse]) -> None:
        self._table = table
        self.last = {} if last is None else last.columns()
        """The columns of the unfinished line."""
        self.finished_count = table.row_count
        self.row_count = table.row_count if last is None else last.row_count
        self.uses = uses

    @property
    def names(self) -> set[str]:
        """The names of all columns."""
        return self._table.names | self.last.keys()

    def columns(self, *, finished: bool = False) -> dict[str, Column]:
        """All columns; without the unfinished line if only `finished` lines are wanted."""
        columns = self._table.columns()
        if finished:
            return columns
        for name, column in self.last.items():
            before = columns.get(name)
            columns[name] = column if before is None else with_last(before, column)
        return columns

    def new_columns(self) -> dict[str, Column]:
        """What was fed to the table since columns were last taken, without the unfinished line."""
        return self._table.new_columns()


Classify = Callable[[str, list[Token]], LinePlan | None]
"""Names the numbers of a line, for it and all lines of its shape. None: lines of that shape are left out."""


class _Scan:
    """The work of one thread: so many bytes of complete lines, for one scanner."""

    def __init__(self, scanner: kernel.LineScanner, size_bytes: int, scan: Callable[[], int]) -> None:
        self.scanner = scanner
        self.size_bytes = size_bytes
        self._scan = scan
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="pulseboard-scan")
        self._thread.start()

    def _run(self) -> None:
        try:
            self._scan()
        except BaseException as error:  # raised where the lines are waited for
            self._error = error

    def wait(self) -> None:
        """Return when the lines are scanned, and raise what that raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error


class LineTable:
    """Columns that grow as lines are fed. With `threads`, a large chunk is scanned by another thread: feed the next one
    meanwhile.

    `size_bytes` is how much will be fed at first, as far as is known: memory for it is reserved once.
    With threads, classify must not depend on the order of the lines. With `headings`, it sees the line before the first
    line of a shape if that is a heading, such as `Test Error:`, and the line is indented.
    """

    def __init__(
        self,
        classify: Classify,
        *,
        mode: int = kernel.TEXT,
        delimiter: str = ",",
        decimal_comma: bool = False,
        threads: int = 1,
        size_bytes: int = 0,
        headings: bool = False,
    ) -> None:
        self.row_count = 0
        self.line_count = 0
        self._has_headings = headings
        self.uses: list[PlanUse] = []
        self._classify = classify
        self._mode = mode
        self._new_scanner = functools.partial(
            kernel.LineScanner, mode, delimiter=delimiter, decimal_comma=decimal_comma
        )
        self._scanners = [self._new_scanner() for _ in range(threads)]
        self._scans: deque[_Scan] = deque()  # in the order of the lines
        self._lock = threading.Lock()
        self._ids: dict[int, int] = {}  # by the hash of a shape: the place of its plan in `uses`
        self._pieces: dict[str, Pieces] = {}  # of whole columns
        self._tails: dict[str, tuple[GrowingArray, GrowingArray]] = {}  # what `new_columns` has returned since
        self._new: dict[str, Pieces] = {}  # and what it has not returned yet
        self._block: tuple[PlanUse, Block] | None = None  # the last of that
        self._pending_bytes = size_bytes

    def feed(self, data: bytes, *, last: bool = False) -> int:
        """Take complete lines; returns the bytes used. With `last`, an unfinished line counts."""
        if end := self._end_for_thread(data, last=last):
            self._collect_scans(left=len(self._scanners) - 1)
            scanner = self._scanners.pop(0)  # the first to be free: they take turns
            self._scanners.append(scanner)
            self._scans.append(_Scan(scanner, end, functools.partial(self._scan, scanner, memoryview(data)[:end])))
            return end
        self._collect_scans()
        used = self._scan(self._scanners[0], data, last=last)
        self._collect(self._scanners[0], used)
        return used

    def _end_for_thread(self, data: bytes, *, last: bool) -> int:
        """Where the complete lines for another thread end; 0 if there are too few, or only the scanner can tell."""
        if len(self._scanners) == 1 or len(data) < _MIN_THREADED_BYTES:
            return 0
        end = data.rfind(b"\n") + 1
        is_quoted = self._mode == kernel.DELIMITED and b'"' in data  # a quoted cell may span lines
        return 0 if is_quoted or data.find(b"\r", end) >= 0 or (last and end < len(data)) else end

    def _collect_scans(self, *, left: int = 0) -> None:
        """Put what threads have scanned into the columns, until so many of them are left."""
        while len(self._scans) > left:
            scan = self._scans.popleft()
            scan.wait()
            self._collect(scan.scanner, scan.size_bytes)

    def _scan(self, scanner: kernel.LineScanner, data: bytes | memoryview, *, last: bool = False) -> int:
        at = 0
        while True:
            at, shape = scanner.feed(data, at, last=last)
            if shape is None:
                return at
            heading = _heading_before(data, at) if self._has_headings else b""
            with self._lock:
                scanner.learn(shape[0], self._plan_for(shape, heading))

    def _plan_for(self, shape: kernel.Shape, heading: bytes) -> int:
        hash, line, spans = shape
        known = self._ids.get(hash)
        if known is not None:
            return known
        if self.is_full:
            return kernel.IGNORED
        self._ids[hash] = kernel.IGNORED
        text, tokens = described(line, spans)
        if heading and tokens and text[:1].isspace():
            tokens[0] = replace(tokens[0], before=_text(heading) + tokens[0].before)
        plan = self._classify(text, tokens)
        if plan is None:
            return kernel.IGNORED
        values = np.cumsum([0] + [type <= kernel.UTC for _, _, type, _ in spans])
        self.uses.append(PlanUse(plan, tuple(int(values[place]) for place, _, _ in plan.columns)))
        self._ids[hash] = len(self.uses) - 1
        return self._ids[hash]

    def _collect(self, scanner: kernel.LineScanner, size_bytes: int) -> None:
        """Sort the rows that a scanner kept of so many bytes into columns."""
        pending, self._pending_bytes = self._pending_bytes, max(0, self._pending_bytes - size_bytes)
        base, self.line_count = self.line_count, self.line_count + scanner.lines
        lines, shapes, starts, values = scanner.take()
        ids = np.frombuffer(shapes, np.int32)
        if not len(ids):
            return
        numbers = np.frombuffer(values, np.float64)
        rows = self._rows(ids)
        if (ids == ids[0]).all():  # as in most tables
            use = self._used(int(ids[0]), len(ids), base, lines, 0)
            room = max(len(ids), min(_MAX_ROOM, int(_SPARE_LINES * len(ids) * pending / size_bytes)))
            self._add(use, rows, numbers.reshape(len(ids), -1) if len(numbers) else None, room=room)
            return
        self._pending_bytes = 0  # lines of another shape may follow these at any time
        begin = np.frombuffer(starts, np.uint64).astype(np.int64)
        found, firsts, counts = np.unique(ids, return_index=True, return_counts=True)
        for id, first, count in zip(found.tolist(), firsts.tolist(), counts.tolist(), strict=True):
            use = self._used(id, count, base, lines, first)
            chosen = np.flatnonzero(ids == id)
            width = max(use.places, default=-1) + 1
            found_numbers = numbers[begin[chosen][:, None] + np.arange(width)] if width else None
            self._add(use, rows[chosen], found_numbers, room=count)

    def _rows(self, ids: NDArray[np.int32]) -> NDArray[np.int64]:
        """The row of each line that was kept."""
        if all(use.plan.new_row for use in self.uses):
            rows = np.arange(self.row_count, self.row_count + len(ids), dtype=np.int64)
        else:
            new = np.array([use.plan.new_row for use in self.uses], np.bool_)[ids]
            new[0] |= self.row_count == 0
            rows = self.row_count - 1 + np.cumsum(new, dtype=np.int64)
        self.row_count = int(rows[-1]) + 1
        return rows

    def _used(self, id: int, count: int, base: int, lines: bytearray, first: int) -> PlanUse:
        use = self.uses[id]
        if not use.count:
            use.first_line = base + int(np.frombuffer(lines, np.int64)[first]) + 1
        use.count += count
        return use

    def _add(self, use: PlanUse, rows: NDArray[np.int64], numbers: NDArray[np.float64] | None, *, room: int) -> None:
        if numbers is None:
            return
        columns = [
            numbers[:, place] if factor == 1.0 else numbers[:, place] * factor
            for (_, _, factor), place in zip(use.plan.columns, use.places, strict=True)
        ]
        if self._block is None or self._block[0] is not use or not self._block[1].has_room(len(rows)):
            self._end_block()
            self._block = use, Block([name for _, name, _ in use.plan.columns], room=room)
        self._block[1].append(rows, columns)

    def _end_block(self) -> None:
        if self._block is not None:
            for name, piece in self._block[1].columns():
                self._new.setdefault(name, []).append(piece)
        self._block = None

    @property
    def is_full(self) -> bool:
        """Whether lines of new shapes are left out: there are too many shapes."""
        return len(self._ids) >= MAX_SHAPES

    @property
    def names(self) -> set[str]:
        """The names of all columns."""
        self._collect_scans()
        self._end_block()
        return self._pieces.keys() | self._tails.keys() | self._new.keys()

    def columns(self) -> dict[str, Column]:
        """Every column, its numbers in the order of the rows. Of several in one row the last counts."""
        self._collect_scans()
        self._end_block()
        for name, (rows, values) in self._tails.items():
            self._pieces.setdefault(name, []).append((rows.taken(), values.taken()))
        for name, pieces in self._new.items():
            self._pieces.setdefault(name, []).extend(pieces)
        out = joined(self._pieces)
        self._pieces = {name: [(column.rows, column.values)] for name, column in out.items()}
        self._tails, self._new = {}, {}
        return out

    def new_columns(self) -> dict[str, Column]:
        """The same of the lines that were fed since one of these two methods was called."""
        self._collect_scans()
        self._end_block()
        out, self._new = joined(self._new), {}
        for name, column in out.items():
            tail = self._tails.get(name)
            if tail is None:
                self._tails[name] = (GrowingArray(column.rows), GrowingArray(column.values))
            else:
                tail[0].append(column.rows)
                tail[1].append(column.values)
        return out

    def rows(self, unfinished: bytes = b"") -> Rows:
        """The table, as it would be if `unfinished` were fed as its last line. The table itself stays as it is."""
        self._collect_scans()
        for i in range(len(self._scanners)):  # which keep their memory; the shapes are known
            self._scanners[i] = self._new_scanner()
        if not unfinished:
            return Rows(self, None, self.uses)
        line = _LastLine(self)
        line.feed(unfinished, last=True)
        return Rows(self, line, line.all_uses())


class _LastLine(LineTable):
    """A line after those of a table, and what it would add to them."""

    def __init__(self, table: LineTable) -> None:
        super().__init__(table._classify, mode=table._mode)
        self.row_count, self.line_count = table.row_count, table.line_count
        self._table = table
        self._scanners = [table._new_scanner()]
        self._known: dict[int, int] = {}  # the place of a use here -> its place in the table

    def _plan_for(self, shape: kernel.Shape, heading: bytes) -> int:
        known = self._table._ids.get(shape[0])
        if known is None:
            is_full = len(self._table._ids) + len(self._ids) >= MAX_SHAPES
            return kernel.IGNORED if is_full else super()._plan_for(shape, heading)
        if known == kernel.IGNORED or shape[0] in self._ids:
            return self._ids.get(shape[0], known)
        use = self._table.uses[known]
        self._ids[shape[0]] = len(self.uses)
        self._known[len(self.uses)] = known
        self.uses.append(PlanUse(use.plan, use.places))
        return self._ids[shape[0]]

    def all_uses(self) -> list[PlanUse]:
        """Those of the table and of the line."""
        out = [*self._table.uses]
        for place, use in enumerate(self.uses):
            known = self._known.get(place)
            if known is None:
                out.append(use)
            else:
                out[known] = replace(out[known], count=out[known].count + use.count)
        return out


def _heading_before(data: bytes | memoryview, at: int) -> bytes:
    """The line before byte `at` with its line break, if it is a few words and a colon; otherwise nothing."""
    before = bytes(data[max(0, at - _MAX_HEADING_BYTES) : at])
    heading = before[before.rfind(b"\n", 0, -1) + 1 :]
    return heading if heading.rstrip().endswith(b":") and not any(map(_DIGITS.__contains__, heading)) else b""


def described(line: bytes, spans: list[tuple[int, int, int, float]]) -> tuple[str, list[Token]]:
    """A line as text, and its numbers."""
    tokens: list[Token] = []
    end = 0
    for i, (start, stop, kind, value) in enumerate(spans):
        following = spans[i + 1][0] if i + 1 < len(spans) else len(line)
        tokens.append(Token(_text(line[end:start]), _text(line[start:stop]), _text(line[stop:following]), value, kind))
        end = stop
    return _text(line), tokens


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
