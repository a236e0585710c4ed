"""The findings of live diagnosis, for the training loop to act on."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pulseboard.core.finding import SEVERITIES, Finding, Severity
from pulseboard.record.messages import warn_once

OnFinding = Callable[[Finding], None]


class LiveFindings:
    """Findings of an active run, in order of appearance. Added by the diagnosis thread, read by any."""

    def __init__(self) -> None:
        self._findings: dict[tuple[str, str], Finding] = {}
        self._callbacks: list[OnFinding] = []
        self._lock = threading.Lock()

    def add(self, finding: Finding) -> None:
        """Add a finding or replace its earlier state, and pass it to the callbacks. Never raises what they raise."""
        with self._lock:
            self._findings[finding.slug, finding.metric] = finding
            callbacks = list(self._callbacks)
        for callback in callbacks:
            _call(callback, finding)

    def on_finding(self, callback: OnFinding) -> None:
        """Call `callback` with each finding, starting with the ones so far."""
        with self._lock:
            self._callbacks.append(callback)
            earlier = list(self._findings.values())
        for finding in earlier:
            _call(callback, finding)

    def findings(self) -> list[Finding]:
        """All findings so far, each in its latest state."""
        with self._lock:
            return list(self._findings.values())

    def should_stop(self, on: Severity) -> bool:
        """Whether there is a finding of severity `on` or above."""
        if on not in SEVERITIES:
            raise ValueError(f"should_stop(on=...) must be one of {', '.join(SEVERITIES)}, not {on!r}.")
        threshold = SEVERITIES.index(on)
        return any(SEVERITIES.index(finding.severity) >= threshold for finding in self.findings())


def _call(callback: OnFinding, finding: Finding) -> None:
    try:
        callback(finding)
    except Exception as error:
        warn_once(f"on_finding {callback!r}", f"An on_finding callback failed: {type(error).__name__}: {error}.")
