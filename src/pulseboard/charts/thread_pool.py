"""Splits one query over many runs between threads. The kernel releases the GIL while it works."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

from pulseboard.core.cancellation import checkpoint, in_this_context

T = TypeVar("T")
U = TypeVar("U")

# Beyond this, threads wait for memory, not for cores.
_MAX_THREADS = 8
# With fewer items per thread, handing over the work costs more than it saves.
_MIN_ITEMS_PER_THREAD = 16


class ThreadPool:
    """A few threads, started on first use."""

    def __init__(self) -> None:
        self._size = min(os.cpu_count() or 1, _MAX_THREADS)
        self._executor: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def map(self, function: Callable[[T], U], items: Sequence[T]) -> list[U]:
        """`function` of each item, in order. Raises the first error that `function` raises, or Cancelled."""
        parts = min(self._size, len(items) // _MIN_ITEMS_PER_THREAD)
        if parts < 2:
            return _each(function, items)
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(self._size - 1, thread_name_prefix="pulseboard-charts")
        bounds = [len(items) * i // parts for i in range(parts + 1)]
        chunks = [items[start:end] for start, end in pairwise(bounds)]
        work = in_this_context(_each)
        futures = [self._executor.submit(work, function, chunk) for chunk in chunks[1:]]
        results = _each(function, chunks[0])  # the calling thread does its share
        for future in futures:
            results += future.result()
        return results


def _each(function: Callable[[T], U], items: Sequence[T]) -> list[U]:
    results = []
    for item in items:
        checkpoint()
        results.append(function(item))
    return results
