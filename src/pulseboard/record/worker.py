"""The worker: a background thread for work that the training loop should not wait for."""

from __future__ import annotations

import os
import queue
import threading
import time
import weakref
from collections.abc import Callable

from pulseboard.record.messages import warn_once

_workers: weakref.WeakSet[Worker] = weakref.WeakSet()


class Worker:
    """Runs jobs in order, and `tick` about once per second. Its errors never stop the process."""

    def __init__(self, tick: Callable[[], None], *, every_secs: float = 1.0) -> None:
        self._tick = tick
        self._every_secs = every_secs
        self._prepare()
        _workers.add(self)

    def _prepare(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._start_lock = threading.Lock()

    def start(self) -> None:
        """Start the thread if it is not running."""
        with self._start_lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="pulseboard-worker", daemon=True)
                self._thread.start()

    def submit(self, job: Callable[[], None]) -> None:
        """Run `job` soon. Returns at once."""
        self._jobs.put(job)
        if self._thread is None:
            self.start()

    def drain(self, *, timeout_secs: float = 60.0) -> bool:
        """Wait until the jobs submitted so far are done; False if that takes too long."""
        if self._thread is None or not self._thread.is_alive() or threading.current_thread() is self._thread:
            return True
        done = threading.Event()
        self._jobs.put(done.set)
        return done.wait(timeout_secs)

    def stop(self, *, timeout_secs: float = 60.0) -> None:
        """Finish the jobs submitted so far and end the thread."""
        thread = self._thread
        if thread is None or not thread.is_alive() or threading.current_thread() is thread:
            return
        self._jobs.put(None)
        thread.join(timeout_secs)

    def _run(self) -> None:
        due = time.monotonic() + self._every_secs
        while True:
            try:
                job = self._jobs.get(timeout=max(0.0, due - time.monotonic()))
                if job is None:
                    return
                _run_job(job)
            except queue.Empty:
                pass
            if time.monotonic() >= due:
                _run_job(self._tick)
                due = time.monotonic() + self._every_secs

    def after_fork(self) -> None:
        """In a forked child: the thread does not exist here, and the jobs are the parent's."""
        self._prepare()


def _run_job(job: Callable[[], None]) -> None:
    try:
        job()
    except Exception as error:
        warn_once(f"worker {type(error).__name__} {error}", f"A background job failed: {type(error).__name__}: {error}")


def _after_fork() -> None:
    for worker in list(_workers):
        worker.after_fork()


os.register_at_fork(after_in_child=_after_fork)
