"""A note: something wrong with a file that did not stop reading the rest."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pulseboard.core.locations import location_of


class Note(NamedTuple):
    """What was wrong, where, and what was skipped because of it.

    `info`: an ordinary state, such as a file that is still being written. `damage`: some bytes of the file could not
    be used. `unreadable`: none could.
    """

    level: Literal["info", "damage", "unreadable"]
    what: str
    path: str
    byte: int | None = None

    def __str__(self) -> str:
        path = location_of(self.path)
        where = f"Byte {self.byte} of {path}" if self.byte is not None else path
        return f"{self.what} {where}"
