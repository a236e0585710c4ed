"""The terminal: consoles for people and pipes, progress bars, and notes on damaged files."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pulseboard.core.note import Note

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Column, Table

# Shorter loads flash by; a bar for them is noise.
_BAR_AFTER_SECS = 0.5
_MOST_NOTES = 8
# Names and tags are printed as they are: in rich's own way, `loss[train]` would lose its end.
_AS_IT_IS: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}


def console() -> Console:
    """For standard output. In a pipe: no colour, and no line is cut to a width nobody sees."""
    from rich.console import Console

    return Console(**_AS_IT_IS) if sys.stdout.isatty() else Console(**_AS_IT_IS, width=1000)


def table(*columns: str, right: Iterable[str] = (), fold: Iterable[str] = ()) -> Table:
    """A plain table. Columns in `right` hold numbers, those in `fold` may wrap when it is narrow."""
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


# A name that wraps is given at least this, before columns that say less are left out.
_NAME_WIDTH = 28


def print_table(made: Table, *, leave_out: Iterable[str] = ()) -> None:
    """Print a table. Where it is wider than the terminal, the columns in `leave_out` go, the first first."""
    from rich.cells import cell_len

    out = console()

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
    """A progress callback that draws a bar once the work takes long; None where nobody watches."""
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
    """Damaged and unreadable files, on standard error; a torn tail is an ordinary state and stays out."""
    worth = [note for note in notes if note.level != "info"]
    if not worth:
        return
    from rich.console import Console
    from rich.text import Text

    err = Console(stderr=True, soft_wrap=True, **_AS_IT_IS)
    for note in worth[:_MOST_NOTES]:
        err.print(Text.assemble(("note  ", "yellow"), str(note)))
    if len(worth) > _MOST_NOTES:
        err.print(f"… and {len(worth) - _MOST_NOTES} more notes; --json lists them all.")
