"""Processor wait: how long a thread was ready to run while other programs had the processors."""

from __future__ import annotations

import contextlib
import os
import threading

_FIELDS = "/proc/thread-self/schedstat"  # nanoseconds on a processor, nanoseconds waiting for one, times it ran


class ProcessorWait:
    """Calls return the seconds that the calling thread has waited so far; always 0 where the system does not say.

    A step of a training on a busy machine is mostly such waiting, a short measurement hardly ever: without this,
    measurements look cheaper than they are.
    """

    def __init__(self, path: str = _FIELDS) -> None:
        self._path = path
        self._file = -1
        self._owner: tuple[int, int] | None = None  # process and thread that the file is about

    def __call__(self) -> float:
        caller = os.getpid(), threading.get_ident()
        try:
            if caller != self._owner:
                self._open(caller)
            return int(os.pread(self._file, 100, 0).split()[1]) / 1e9 if self._file >= 0 else 0.0
        except (OSError, IndexError, ValueError):
            self._close()
            return 0.0

    def _open(self, caller: tuple[int, int]) -> None:
        self._close()
        self._owner = caller
        with contextlib.suppress(OSError):
            self._file = os.open(self._path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))

    def _close(self) -> None:
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = -1

    def __del__(self) -> None:
        self._close()
