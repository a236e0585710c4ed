"""SQLite files of other programs, read without changing them, waiting for their locks or running forever."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import urllib.parse
from collections.abc import Iterator

from pulseboard.core.note import Note
from pulseboard.rundir.regular_file import NotARegularFile, OutsideDirectory, real_path

MAGIC = b"SQLite format 3\0"

ERRORS = (sqlite3.Error, UnicodeDecodeError, OverflowError, NotARegularFile, OutsideDirectory)
"""What a damaged database raises. Messages of SQLite may quote bytes that are not text, and Python decodes them."""

# A program that writes holds its lock for milliseconds.
_TIMEOUT_SECS = 1.0
# Reading a row takes some dozen operations of SQLite, and without an index all rows are read again for every run.
_MAX_OPERATIONS_PER_BYTE, _MIN_OPERATIONS = 2000, 50_000_000
_OPERATIONS_PER_CHECK = 100_000


class NotReadable(sqlite3.DatabaseError):
    """The database is sound, but must not or cannot be read now."""


@contextlib.contextmanager
def opened(path: str, *, tables: tuple[str, ...]) -> Iterator[sqlite3.Connection]:
    """A connection that only reads, for queries of these tables. Raises one of ERRORS.

    A table that is a view or a virtual table is refused: a few bytes of it may stand for rows without end.
    """
    with contextlib.closing(_connected(path)) as database:
        budget = max(_MIN_OPERATIONS, _MAX_OPERATIONS_PER_BYTE * os.path.getsize(path)) // _OPERATIONS_PER_CHECK

        def spend() -> bool:
            nonlocal budget
            budget -= 1
            return budget < 0  # true interrupts the query

        database.set_progress_handler(spend, _OPERATIONS_PER_CHECK)
        for name, kind, sql in database.execute("select name, type, sql from sqlite_master"):
            if name in tables and (kind != "table" or "virtual" in str(sql)[:40].lower()):
                raise NotReadable(f"{name!r} is a view, not a table")
        yield database


def note_on(error: Exception, path: str) -> Note:
    """What to say about an error."""
    if "interrupted" in str(error):
        return Note("damage", "Left out the rest of the database: a query did not end.", path)
    if "locked" in str(error):
        return Note("unreadable", "Another program has locked the database. It is read when the file changes.", path)
    return Note("damage", f"The rest of the database cannot be read: {error}.", path)


def _connected(path: str) -> sqlite3.Connection:
    """Open read-only. If the directory allows no lock file, open it as a file that nobody else writes."""
    real = real_path(path)
    quoted = urllib.parse.quote(real)
    for mode in ("mode=ro", "immutable=1"):
        database = sqlite3.connect(f"file:{quoted}?{mode}", uri=True, timeout=_TIMEOUT_SECS)
        # Programs may have put invalid text into text columns.
        database.text_factory = lambda data: data.decode("utf-8", "replace")
        try:
            database.execute("select count(*) from sqlite_master").fetchone()
            if real_path(real) != real:  # a directory became a link while SQLite opened the file
                raise OutsideDirectory(path)
            return database
        except sqlite3.OperationalError as error:
            database.close()
            # What is locked is being written: without the lock, half of a change would be read.
            if mode == "immutable=1" or "locked" in str(error):
                raise
        except BaseException:
            database.close()
            raise
    raise AssertionError("unreachable: the last mode returns or raises")
