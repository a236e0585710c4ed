"""Runs a sink, usually on its own thread: a slow sink delays nothing else, and one that fails stops alone."""

from __future__ import annotations

import dataclasses
import queue
import threading
from typing import Any

from pulseboard.core.plural import plural
from pulseboard.record.messages import warn
from pulseboard.record.sink import RunInfo, Sink, sink_class
from pulseboard.rundir import mounts

# A sink that is this far behind gets no more until it catches up. What it misses is counted.
MAX_WAITING_RECORDS = 100_000


class SinkRunner:
    """A sink with its thread and its queue of calls; or without them, if the sink is fast and its disk is local."""

    def __init__(self, id: str, info: RunInfo, *, strict: bool = False) -> None:
        self.id = id
        self.dropped_records = 0
        self.failure: BaseException | None = None
        self._info = info
        self._strict = strict
        self._calls: queue.SimpleQueue[tuple[str, tuple[Any, ...], dict[str, Any]] | None] = queue.SimpleQueue()
        self._sink: Sink | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.RLock()  # reentrant: a signal may finish the run during a call
        self._calling = False
        if self._is_fast():
            self._start()
        else:
            self._thread = threading.Thread(target=self._run, name=f"pulseboard-{id}", daemon=True)
            self._thread.start()

    def _is_fast(self) -> bool:
        try:
            return sink_class(self.id).in_call and mounts.is_local(self._info.directory)
        except Exception:  # the thread reports what is wrong with it
            return False

    def send(self, call: str, *args: Any, **named: Any) -> None:
        """Queue a call of the sink's method `call`, and return at once; or make the call, if the sink is fast."""
        if self.failure is not None:
            return
        if self._thread is None:
            self._call_now(call, args, named)
            return
        if self._calls.qsize() >= MAX_WAITING_RECORDS:
            self.dropped_records += 1
            return
        self._calls.put((call, args, named))

    def close(self, *, status: str, timeout_secs: float = 60.0) -> None:
        """Let the sink finish what waits, and close it."""
        if self._thread is None:
            self._call_now("close", (), {"status": status})
        else:
            self._calls.put(("close", (), {"status": status}))
            self._calls.put(None)
            self._thread.join(timeout_secs)
        if self._thread is not None and self._thread.is_alive():
            warn(f"sink {self.id} did not finish within {timeout_secs:g} s. Not waiting for it any longer.")
        if self.dropped_records:
            warn(f"sink {self.id} fell behind and missed {plural(self.dropped_records, 'record')}.")
        if self._strict and self.failure is not None:
            raise self.failure

    def _call_now(self, call: str, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        with self._lock:
            if self._calling:
                return  # a signal's handler in the middle of a call: the file is valid as it is, and the process ends
            self._calling = True
            try:
                self._call(call, args, named)
            finally:
                self._calling = False

    def _run(self) -> None:
        self._start()
        while (item := self._calls.get()) is not None:
            self._call(*item)

    def _start(self) -> None:
        try:
            self._sink = self._open()
        except BaseException as error:
            self._stop(error, during="start")

    def _call(self, call: str, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        if self.failure is not None or self._sink is None:
            return
        try:
            getattr(self._sink, call)(*args, **named)
        except BaseException as error:
            self._stop(error, during=f"step {named['step']}" if "step" in named else call)

    def _open(self) -> Sink:
        cls = sink_class(self.id)
        defaults = {setting.name: setting.default for setting in cls.settings}
        return cls(dataclasses.replace(self._info, settings={**defaults, **self._info.settings}))

    def _stop(self, error: BaseException, *, during: str) -> None:
        self.failure = error
        reason = str(error) or type(error).__name__
        warn(f"sink {self.id} stopped at {during}: {reason}. Training continues; this sink gets no more records.")
