"""The interface of a cache that saves `Runs` from reading files that were read before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from pulseboard.read.discovery.scan import FoundFile
from pulseboard.read.event_files.event_file import EventFile

if TYPE_CHECKING:
    # Loads what reads other formats.
    from pulseboard.read.parsed_files.file import ParsedFile


class Cache(Protocol):
    """Consulted before a file is read for the first time, and notified after files were read."""

    def restore(self, file: EventFile, found: FoundFile) -> None:
        """Fill in what is cached of `file`, which has read nothing yet. Set `seen` if nothing is left to read."""

    def loaded(self, files: Iterable[EventFile]) -> None:
        """Called with files that were just read to their end."""

    def restore_parsed(self, file: ParsedFile, found: FoundFile) -> None:
        """Fill in what is cached of a file of another format, which was not opened yet, if it has not changed since."""

    def loaded_parsed(self, file: ParsedFile) -> None:
        """Called with a file of another format that was just read."""
