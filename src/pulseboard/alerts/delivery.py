"""Delivery: messages wait until they arrive. One that fails is tried again, less and less often."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pulseboard.alerts.memory import Memory
from pulseboard.alerts.message import Message
from pulseboard.alerts.rules import Destination
from pulseboard.alerts.sending import send

_FIRST_RETRY_SECS, _MAX_RETRY_SECS = 1.0, 300.0

_log = logging.getLogger("pulseboard.alerts")


@dataclass(slots=True)
class _Waiting:
    message: Message
    destination: Destination
    entry: dict[str, Any]  # kept in memory once it has arrived
    due: float
    attempts: int = 0


class Delivery:
    """Sends messages on a thread. A newer message under the same key replaces one that has not arrived yet."""

    def __init__(
        self,
        memory: Memory,
        *,
        chart: bool = True,
        report: Callable[[str], None] = _log.warning,
        first_retry_secs: float = _FIRST_RETRY_SECS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._memory, self.chart, self.report = memory, chart, report
        self._first_retry_secs, self._clock = first_retry_secs, clock
        self._waiting: dict[str, _Waiting] = {}
        self._condition = threading.Condition()
        self._closed = False
        self._busy = False
        self._thread = threading.Thread(target=self._work, name="pulseboard-alerts", daemon=True)
        self._thread.start()

    def last(self, key: str) -> dict[str, Any] | None:
        """What was last sent or is about to be sent under a key."""
        with self._condition:
            waiting = self._waiting.get(key)
            return waiting.entry if waiting is not None else self._memory.get(key)

    def put(self, key: str, message: Message, destination: Destination, entry: dict[str, Any], *, due: float) -> None:
        """Send a message at wall time `due`, or as soon as possible after it."""
        with self._condition:
            self._waiting[key] = _Waiting(message, destination, entry, due)
            self._condition.notify()

    def know(self, key: str, entry: dict[str, Any]) -> None:
        """Count something as sent."""
        with self._condition:
            self._waiting.pop(key, None)
            self._keep(key, entry)

    def drop(self, key: str) -> None:
        """Do not send what waits under a key."""
        with self._condition:
            self._waiting.pop(key, None)

    def flush(self, timeout_secs: float) -> bool:
        """Wait until everything that is due has been tried; whether it has arrived."""
        with self._condition:
            return self._condition.wait_for(lambda: not self._busy and not self._due(self._clock()), timeout_secs)

    def close(self) -> None:
        """Stop. What has not arrived is decided again at the next start."""
        with self._condition:
            self._closed = True
            self._condition.notify()
        self._thread.join(timeout=20)

    # ---- the thread

    def _due(self, now: float) -> list[str]:
        return [key for key, one in self._waiting.items() if one.due <= now]

    def _work(self) -> None:
        while True:
            with self._condition:
                self._busy = False
                self._condition.notify_all()
                now = self._clock()
                due = self._due(now)
                if not due and not self._closed:
                    nearest = min((one.due for one in self._waiting.values()), default=now + 3600)
                    self._condition.wait(min(max(0.01, nearest - now), 3600))
                if self._closed:
                    return
                if not due:
                    continue
                key = due[0]
                one = self._waiting[key]
                self._busy = True
            self._try(key, one)

    def _try(self, key: str, one: _Waiting) -> None:
        try:
            send(one.message, one.destination, chart=self.chart)
        except Exception as error:  # whatever a service raises: the other messages go on
            one.attempts += 1
            wait = min(_MAX_RETRY_SECS, self._first_retry_secs * 2 ** (one.attempts - 1))
            one.due = self._clock() + wait
            self.report(f"{error} It is tried again in {wait:g} s. {one.message.title}")
            return
        with self._condition:
            if self._waiting.get(key) is one:
                del self._waiting[key]
            self._keep(key, one.entry)

    def _keep(self, key: str, entry: dict[str, Any]) -> None:
        try:
            self._memory.put(key, entry)
        except OSError as error:
            self.report(
                f"Cannot save what was sent: {error.strerror}. A restart may send it again. {self._memory.path}"
            )
