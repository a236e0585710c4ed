"""Terminal output: consoles, tables, progress bars, and notes about damaged files."""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pulseboard.core.note import Note

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Column, Table

# A bar for shorter loads would only flash.
_BAR_AFTER_SECS = 0.5
_MAX_NOTES = 8
# Print names and tags literally: rich markup would swallow the end of `loss[train]`.
_LITERAL: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}

# Names and tags come from files of unknown origin. A terminal acts on control characters, on those of old 8-bit
# terminals, and on marks that change the direction of text, so others are shown in their place.
_REPLACEMENT = 0xFFFD
_DIRECTION_MARKS = (0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_VISIBLE = {
    **{code: 0x2400 + code for code in range(0x20)},  # the Unicode pictures of control characters: ␛ for escape
    0x7F: 0x2421,
    **dict.fromkeys((*range(0x80, 0xA0), *_DIRECTION_MARKS), _REPLACEMENT),
}
_VISIBLE_IN_LINE = {code: shown for code, shown in _VISIBLE.items() if code != ord("\t")}
_VISIBLE_LINES = {code: shown for code, shown in _VISIBLE.items() if code != ord("\n")}


def printable(name: str) -> str:
    """A name or tag on one line, without characters that a terminal acts on."""
    return name.translate(_VISIBLE)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines for scripts as they come: never wrapped, without color, one line each."""
    for line in lines:
        print(line.translate(_VISIBLE_IN_LINE), flush=True)


def print_rows(rows: Iterable[Iterable[str | float | None]]) -> None:
    """Print rows for scripts: cells separated by tabs, numbers with four significant digits, `-` for None."""
    print_lines("\t".join(map(_cell, row)) for row in rows)


def _cell(value: str | float | None) -> str:
    if isinstance(value, str):
        return value.translate(_VISIBLE)
    return "-" if value is None else str(value) if isinstance(value, int) else f"{value:.4g}"


def print_error(message: str) -> None:
    """Print to stderr why a command failed."""
    print(f"pulseboard: {message}".rstrip().translate(_VISIBLE_LINES), file=sys.stderr)


@functools.cache
def _console_type() -> type[Console]:
    from rich.console import Console
    from rich.text import Text

    class LiteralConsole(Console):
        """Prints texts without characters that a terminal acts on, except line breaks."""

        def print(self, *objects: Any, **options: Any) -> None:
            shown = [one.translate(_VISIBLE_LINES) if isinstance(one, str) else one for one in objects]
            for one in shown:
                if isinstance(one, Text):
                    one.plain = one.plain.translate(_VISIBLE_LINES)
            super().print(*shown, **options)

    return LiteralConsole


def console() -> Console:
    """A console for standard output. In a pipe it uses no color and never truncates lines."""
    made = _console_type()
    return made(**_LITERAL) if sys.stdout.isatty() else made(**_LITERAL, width=1000)


def table(*columns: str, right: Iterable[str] = (), fold: Iterable[str] = ()) -> Table:
    """An empty table. Columns in `right` are right-aligned; those in `fold` may wrap."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns:
        folds = column in fold
        made.add_column(
            column,
            justify="right" if column in right else "left",
            no_wrap=not folds,
            overflow="fold" if folds else "ellipsis",
        )
    return made


# A column that wraps keeps at least this width; less important columns are dropped first.
_NAME_WIDTH = 28


def print_table(made: Table, *, leave_out: Iterable[str] = ()) -> None:
    """Print a table. If it is too wide for the terminal, drop the columns in `leave_out`, in that order."""
    from rich.cells import cell_len

    out = console()
    for column in made.columns:
        column._cells = [printable(cell) if isinstance(cell, str) else cell for cell in column._cells]

    def width(column: Column) -> int:
        cells = [column.header, *column._cells]
        natural = max(cell_len(getattr(cell, "plain", str(cell))) for cell in cells)
        return min(natural, _NAME_WIDTH) if column.overflow == "fold" else natural

    for name in leave_out:
        if sum(width(column) + 3 for column in made.columns) - 3 <= out.width:
            break
        made.columns = [column for column in made.columns if column.header != name]
    for i, column in enumerate(made.columns):
        column._index = i
        column.min_width = width(column) if column.overflow == "fold" else None
    out.print(made)


@contextlib.contextmanager
def loading(what: str = "Reading event files") -> Iterator[Callable[[int, int], None] | None]:
    """Yield a progress callback that shows a bar if the work takes long. None if stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    began = time.monotonic()
    bar = Progress(
        TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=Console(stderr=True), transient=True,
    )  # fmt: skip
    task = bar.add_task(what, total=None)

    def progress(done: int, total: int) -> None:
        if not bar.live.is_started and time.monotonic() - began > _BAR_AFTER_SECS:
            bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield progress
    finally:
        if bar.live.is_started:
            bar.stop()


def print_notes(notes: list[Note]) -> None:
    """Print notes about damaged and unreadable files to stderr. A file still being written is not worth a note."""
    worth = [note for note in notes if note.level != "info"]
    if not worth:
        return
    from rich.text import Text

    err = _console_type()(stderr=True, soft_wrap=True, **_LITERAL)
    for note in worth[:_MAX_NOTES]:
        err.print(Text.assemble(("note  ", "yellow"), str(note)))
    if len(worth) > _MAX_NOTES:
        err.print(f"… and {len(worth) - _MAX_NOTES} more notes; --json lists them all.")
