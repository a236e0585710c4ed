"""Threads: one question over many runs, worked at by every core. The kernel lets go of the GIL."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")

# More wait for memory, not for cores.
_MOST_THREADS = 8
# For fewer runs, handing the work over costs more than it brings.
_LEAST_EACH = 16


class Threads:
    """A few threads that are started when they are first needed."""

    def __init__(self) -> None:
        self._most = min(os.cpu_count() or 1, _MOST_THREADS)
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def map(self, work: Callable[[T], U], items: Sequence[T]) -> list[U]:
        """What `work` makes of each item, in their order. The first error that it raises is raised here."""
        parts = min(self._most, len(items) // _LEAST_EACH)
        if parts < 2:
            return [work(item) for item in items]
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._most - 1, thread_name_prefix="pulseboard-charts")
        bounds = [len(items) * i // parts for i in range(parts + 1)]
        cut = [items[a:b] for a, b in pairwise(bounds)]
        others = [self._pool.submit(lambda part: [work(item) for item in part], part) for part in cut[1:]]
        out = [work(item) for item in cut[0]]  # this thread takes its share
        for other in others:
            out += other.result()
        return out
