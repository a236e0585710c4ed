"""Finishes active runs when their process ends: normally, by an exception, by sys.exit, or by SIGTERM."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import weakref
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from pulseboard.record.active_run import ActiveRun

_active_runs: weakref.WeakSet[ActiveRun] = weakref.WeakSet()
_installed = False
_exception_ended_process = False
_exit_steps: dict[int, int] = {}  # the last step of each run at a sys.exit with an error
_original_excepthook = sys.excepthook
_original_exit = sys.exit


def register(run: ActiveRun) -> None:
    """Finish `run` when the process ends."""
    _active_runs.add(run)
    _install()


def unregister(run: ActiveRun) -> None:
    """The run is finished."""
    _active_runs.discard(run)


def _install() -> None:
    global _installed, _original_excepthook, _original_exit
    if _installed:
        return
    _installed = True
    _original_excepthook, sys.excepthook = sys.excepthook, _on_exception
    _original_exit, sys.exit = sys.exit, _on_exit
    atexit.register(_at_exit)
    os.register_at_fork(after_in_child=_after_fork)
    # A training with its own SIGTERM handler (to save a checkpoint) keeps it, and ends by exiting.
    in_main_thread = threading.current_thread() is threading.main_thread()
    if in_main_thread and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _on_terminate)


def finish_in(directory: Path) -> None:
    """Finish the run that this process is recording in `directory`, if there is one: another call continues it."""
    for run in list(_active_runs):
        if run.records_in(directory):
            run.finish()


def _finish_all(status: str) -> None:
    for run in list(_active_runs):
        run.finish(status=status)


def _at_exit() -> None:
    for run in list(_active_runs):
        # A run that kept logging after sys.exit: the program caught the SystemExit.
        exited = _exit_steps.get(id(run)) == run.last_step
        run.finish(status="failed" if _exception_ended_process or exited else "finished")


def _on_exit(code: Any = None, /) -> NoReturn:
    """sys.exit, which no other hook reports. 0, None and False mean success."""
    if code and threading.current_thread() is threading.main_thread():
        _exit_steps.update({id(run): run.last_step for run in _active_runs})
    _original_exit(code)


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
