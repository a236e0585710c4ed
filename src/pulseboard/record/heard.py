"""Findings heard: what live diagnosis has said of a run, for its training loop to act on."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pulseboard.core.finding import SEVERITIES, Finding, Severity
from pulseboard.record.report import say_once

OnFinding = Callable[[Finding], None]


class Heard:
    """Findings in the order they came. Told from the diagnosis's thread, read from any."""

    def __init__(self) -> None:
        self._findings: dict[tuple[str, str], Finding] = {}
        self._calls: list[OnFinding] = []
        self._lock = threading.Lock()

    def tell(self, finding: Finding) -> None:
        """Take up a finding, or its newer state, and pass it to whoever asked. What they raise ends nothing."""
        with self._lock:
            self._findings[finding.slug, finding.metric] = finding
            calls = list(self._calls)
        for call in calls:
            _call(call, finding)

    def on_finding(self, call: OnFinding) -> None:
        """Have `call` called with each finding, those that came before included."""
        with self._lock:
            self._calls.append(call)
            before = list(self._findings.values())
        for finding in before:
            _call(call, finding)

    def findings(self) -> list[Finding]:
        """Everything found so far, as it stands."""
        with self._lock:
            return list(self._findings.values())

    def should_stop(self, on: Severity) -> bool:
        """Whether anything as grave as `on` was found."""
        if on not in SEVERITIES:
            raise ValueError(f"should_stop(on=...) takes one of {', '.join(SEVERITIES)}, not {on!r}.")
        least = SEVERITIES.index(on)
        return any(SEVERITIES.index(finding.severity) >= least for finding in self.findings())


def _call(call: OnFinding, finding: Finding) -> None:
    try:
        call(finding)
    except Exception as error:
        say_once(f"on_finding {call!r}", f"A callback of on_finding failed: {type(error).__name__}: {error}.")
