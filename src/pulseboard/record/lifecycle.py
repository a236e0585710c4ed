"""Finishes active runs when their process ends: normally, by an exception, or by SIGTERM."""

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
    from pulseboard.record.active_run import ActiveRun

_active_runs: weakref.WeakSet[ActiveRun] = weakref.WeakSet()
_installed = False
_exception_ended_process = False
_original_excepthook = sys.excepthook


def register(run: ActiveRun) -> None:
    """Finish `run` when the process ends."""
    _active_runs.add(run)
    _install()


def unregister(run: ActiveRun) -> None:
    """The run is finished."""
    _active_runs.discard(run)


def _install() -> None:
    global _installed, _original_excepthook
    if _installed:
        return
    _installed = True
    _original_excepthook, sys.excepthook = sys.excepthook, _on_exception
    atexit.register(_at_exit)
    os.register_at_fork(after_in_child=_after_fork)
    # A training with its own SIGTERM handler (to save a checkpoint) keeps it, and ends by exiting.
    in_main_thread = threading.current_thread() is threading.main_thread()
    if in_main_thread and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _on_terminate)


def _finish_all(status: str) -> None:
    for run in list(_active_runs):
        run.finish(status=status)


def _at_exit() -> None:
    _finish_all("failed" if _exception_ended_process else "finished")


def _on_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    global _exception_ended_process
    _exception_ended_process = True
    _original_excepthook(kind, error, trace)


def _on_terminate(number: int, frame: Any) -> None:
    """SIGTERM, and the training does not handle it: finish the runs, then end the process by the same signal."""
    _finish_all("killed")
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _after_fork() -> None:
    """A forked child (a data loader's worker) neither finishes its parent's runs nor writes to their files."""
    runs = list(_active_runs)
    _active_runs.clear()
    for run in runs:
        run.after_fork()
    if signal.getsignal(signal.SIGTERM) is _on_terminate:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
