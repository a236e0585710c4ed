"""A cache of what was read: whoever keeps one may spare the log the reading of files that it has seen before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from pulseboard.read.discover import FoundFile
from pulseboard.read.readers.event_file import EventFile


class Cache(Protocol):
    """Asked before a file is read for the first time, and told of what was read."""

    def restore(self, file: EventFile, found: FoundFile) -> None:
        """Fill `file`, which has read nothing yet, as far as is known; set `seen` where nothing is left to read."""

    def loaded(self, files: Iterable[EventFile]) -> None:
        """These files were read to where they end now."""
