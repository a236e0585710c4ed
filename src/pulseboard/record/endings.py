"""Endings: runs are finished when their process ends, however it ends, where that can be known."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pulseboard.record.run import Run

_live: weakref.WeakSet[Run] = weakref.WeakSet()
_installed = False
_uncaught = False
_excepthook = sys.excepthook


def watch(run: Run) -> None:
    """Finish `run` when the process ends: by itself, by an exception, or by SIGTERM."""
    _live.add(run)
    _install()


def forget(run: Run) -> None:
    """The run is finished."""
    _live.discard(run)


def _install() -> None:
    global _installed, _excepthook
    if _installed:
        return
    _installed = True
    _excepthook, sys.excepthook = sys.excepthook, _on_exception
    atexit.register(_at_exit)
    os.register_at_fork(after_in_child=_in_child)
    # A job that handles SIGTERM itself (to save a checkpoint) keeps doing so, and ends by exiting.
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _on_terminate)


def _finish_all(status: str) -> None:
    for run in list(_live):
        run.finish(status=status)


def _at_exit() -> None:
    _finish_all("failed" if _uncaught else "finished")


def _on_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    global _uncaught
    _uncaught = True
    _excepthook(kind, error, trace)


def _on_terminate(number: int, frame: Any) -> None:
    """SIGTERM with nobody else to handle it: leave the run whole, then die as was asked."""
    _finish_all("killed")
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _in_child() -> None:
    """A forked child (a data loader's worker) neither finishes its parent's runs nor writes their files."""
    runs = list(_live)
    _live.clear()
    for run in runs:
        run.after_fork()
    if signal.getsignal(signal.SIGTERM) is _on_terminate:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
