"""A note: something in a log that a person should know, and that stopped nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Note:
    """What was met while reading, where, and what was skipped because of it.

    `info` is an ordinary state (a file still being written); `damage` means that bytes of the file
    could not be used; `unreadable` means that none could.
    """

    level: Literal["info", "damage", "unreadable"]
    what: str
    path: str
    byte: int | None = None

    def __str__(self) -> str:
        where = f"Byte {self.byte} of {self.path}" if self.byte is not None else self.path
        return f"{self.what} {where}"
