"""Decoded values kept for a while: a page asks for a list of images, then for each of them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pulseboard.read.run import Run

_MOST_BYTES = 128 << 20
# An object around the bytes, or a histogram's arrays.
_EACH_BYTES = 1000


class Decoded:
    """The values of tags, the most recently asked for, up to a bound of memory. Safe between threads."""

    def __init__(self, *, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: dict[tuple[str, str, str], tuple[int, int, list[Any]]] = {}  # revision, bytes, values
        self._bytes = 0
        self._lock = threading.Lock()

    def values(self, run: Run, tag: str, *, kind: str, revision: int) -> list[Any]:
        """The run's values of a tag, decoded anew where the run has changed since. TagNotFound where it has none."""
        key = (run.name, tag, kind)
        with self._lock:
            kept = self._kept.pop(key, None)
            if kept is not None and kept[0] == revision:
                self._kept[key] = kept  # at the end: what was not asked for longest goes first
                return kept[2]
            self._bytes -= kept[1] if kept else 0
        found = run.values(tag, kind=kind)
        size = sum(map(_size_of, found))
        with self._lock:
            if size <= self._most_bytes and key not in self._kept:
                self._kept[key] = (revision, size, found)
                self._bytes += size
            while self._bytes > self._most_bytes:
                self._bytes -= self._kept.pop(next(iter(self._kept)))[1]
        return found


def _size_of(value: Any) -> int:
    pieces = [*getattr(value, "frames", ()), *(clip.data for clip in getattr(value, "clips", ()))]
    return _EACH_BYTES + sum(map(len, pieces))
