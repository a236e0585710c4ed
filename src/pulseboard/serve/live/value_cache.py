"""A cache of decoded values: the page requests a list of images, then each of them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pulseboard.read.run import Run

_MAX_BYTES = 128 << 20
# The object around the data, or a histogram's arrays.
_OVERHEAD_BYTES = 1000


class ValueCache:
    """Decoded values of the most recently used tags, up to a memory limit. Thread-safe."""

    def __init__(self, *, max_bytes: int = _MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._entries: dict[tuple[str, str, str], tuple[int, int, list[Any]]] = {}  # revision, bytes, values
        self._bytes = 0
        self._lock = threading.Lock()

    def values(self, run: Run, tag: str, *, kind: str, revision: int) -> list[Any]:
        """The run's values of a tag, decoded again if the revision has changed. Raises TagNotFound."""
        key = (run.name, tag, kind)
        with self._lock:
            entry = self._entries.pop(key, None)
            if entry is not None and entry[0] == revision:
                self._entries[key] = entry  # at the end: the least recently used goes first
                return entry[2]
            self._bytes -= entry[1] if entry else 0
        values = run.values(tag, kind=kind)
        size = sum(map(_size_of, values))
        with self._lock:
            if size <= self._max_bytes and key not in self._entries:
                self._entries[key] = (revision, size, values)
                self._bytes += size
            while self._bytes > self._max_bytes:
                self._bytes -= self._entries.pop(next(iter(self._entries)))[1]
        return values


def _size_of(value: Any) -> int:
    blobs = [*getattr(value, "frames", ()), *(clip.data for clip in getattr(value, "clips", ()))]
    return _OVERHEAD_BYTES + sum(map(len, blobs))
