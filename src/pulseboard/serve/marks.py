"""Marks that users give runs (names, colors, notes, pins), kept in the user's data directory.

One JSON file for all log directories, keyed by the absolute path or URL of each run's log, so a run has the same marks
from whichever log directory it is served.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pulseboard.core.locations import is_url
from pulseboard.core.user_data import data_directory
from pulseboard.serve.http import schema
from pulseboard.serve.user_file import LOCK_SECS, Entries, UserFile

Marks = dict[str, Any]

# Named, `#rgb` to `#rrggbbaa`, and the functions of CSS: a color must not be able to bring a URL or other properties.
_COLOR = r"^(#[0-9A-Fa-f]{3,8}|[A-Za-z]{3,30}|(rgb|rgba|hsl|hsla|hwb|lab|lch|oklab|oklch)\([-0-9A-Za-z.,%/ ]{1,50}\))$"

MARKS = {
    "title": "Marks",
    **schema.record(
        {
            "name": schema.nullable(schema.string("shown instead of the run's name", max_length=500)),
            "color": schema.nullable(schema.string("a CSS color", max_length=64, pattern=_COLOR)),
            "hidden": schema.boolean("left out of charts"),
            "note": schema.nullable(schema.string("any text; Markdown", max_length=20_000)),
            "note_by": schema.nullable(
                schema.string("who wrote the note: the name of their token, set by the server", max_length=200)
            ),
            "tags": schema.array(schema.string(max_length=200), "labels to find the run by", max_items=100),
            "pinned": schema.boolean("kept at the top"),
            "expected": schema.array(
                schema.string(max_length=200), "slugs of findings that the user marked as expected", max_items=1000
            ),
        },
        "Marks that a user gave a run.",
    ),
}


class MarksFile:
    """The marks of every run that has any. Thread-safe, and reading never waits for writing."""

    def __init__(
        self, path: Path | None = None, *, lock_secs: float = LOCK_SECS, entries: Entries | None = None
    ) -> None:
        """`entries` keeps the marks instead of a file."""
        self.path = path or data_directory() / "marks.json"
        self._file = entries or UserFile(self.path, holds="marks", understood=_understood, lock_secs=lock_secs)

    def all(self) -> Mapping[str, Marks]:
        """Marks by `key_of` the run."""
        return self._file.all()

    def set(self, marks: Mapping[str, Marks | None], *, by: str | None = None) -> None:
        """Give each run, by its key, exactly these marks; None removes them. `by` is the user's name, if it is known.

        Raises an HttpError if it cannot.
        """

        def update(all_marks: dict[str, Marks]) -> None:
            for key, given in marks.items():
                signed = _sign_note(given or {}, all_marks.get(key, {}), by)
                kept = {name: value for name, value in signed.items() if value not in (None, False, [], "")}
                if kept:
                    all_marks[key] = kept
                else:
                    all_marks.pop(key, None)

        self._file.change(update, by=by)


def _sign_note(given: Marks, before: Marks, by: str | None) -> Marks:
    """The marks with the name of the user who wrote the note: a client cannot choose it."""
    note = given.get("note")
    author = before.get("note_by") if note == before.get("note") else by
    return {**given, "note_by": author if note else None}


@lru_cache(maxsize=1 << 16)
def key_of(location: str, part: str = "") -> str:
    """The key of a run's marks: its URL or real path, and which of several runs there it is.

    Cached, because resolving a path is slow.
    """
    place = location if is_url(location) else os.path.realpath(location)
    return f"{place}#{part}" if part else place


def _understood(marks: Marks) -> Marks:
    """What the marks of a newer file have that this version knows: the names and types in MARKS."""
    return {name: value for name, value in marks.items() if _is_known(name, value)}


def _is_known(name: str, value: Any) -> bool:
    from pulseboard.serve.http.errors import BadRequest
    from pulseboard.serve.http.validation import validate

    known = MARKS["properties"].get(name)
    if known is None:
        return False
    try:
        validate(value, known, at=name)
    except BadRequest:
        return False
    return True
