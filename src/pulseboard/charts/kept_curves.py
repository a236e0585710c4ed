"""The curves in memory, within a limit: those that were used least recently go first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pulseboard.charts.curve import Curve

Key = tuple[str, int, str, str]
"""Run, rank, tag, and the tag of the metric that is the x axis, an empty text, or `FORK`."""

FORK = "\0fork"
"""In a key: the curve begins with that of the run's parent."""


class KeptCurves:
    """Curves by key. Thread-safe."""

    def __init__(self, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._curves: dict[Key, Curve] = {}
        self._sizes: dict[Key, int] = {}
        self._held_bytes = 0
        self._lock = threading.Lock()

    def get(self, key: Key, new: Callable[[], Curve]) -> Curve:
        """The curve with this key, which is created if there is none."""
        with self._lock:
            curve = self._curves.pop(key, None) or new()
            self._curves[key] = curve  # at the end: the least recently used goes first
        return curve

    def note_size(self, key: Key, curve: Curve) -> None:
        """The curve has changed."""
        size = curve.held_bytes
        with self._lock:
            self._held_bytes += size - self._sizes.get(key, 0)
            self._sizes[key] = size

    def free_memory(self) -> None:
        """Drop curves until they fit into the limit."""
        with self._lock:
            while self._held_bytes > self._max_bytes and len(self._curves) > 1:
                self._drop(next(iter(self._curves)))

    def drop(self, runs: Iterable[str]) -> None:
        """Drop the curves of these runs."""
        gone = set(runs)
        with self._lock:
            for key in [key for key in self._curves if key[0] in gone]:
                self._drop(key)

    def _drop(self, key: Key) -> None:
        self._curves.pop(key, None)
        self._held_bytes -= self._sizes.pop(key, 0)
