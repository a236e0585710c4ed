"""What live diagnosis has found, for the training loop to act on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from pulseboard.core.finding import SEVERITIES, Finding, Incident, Severity
from pulseboard.record.messages import warn_once

OnFinding = Callable[[Finding], None]


class LiveFindings:
    """Findings and incidents of an active run. Set by the diagnosis thread, read by any."""

    def __init__(self) -> None:
        self._findings: tuple[Finding, ...] = ()
        self._incidents: tuple[Incident, ...] = ()
        self._reported: dict[tuple[str, str], Finding] = {}  # by slug and metric: what callbacks were given
        self._callbacks: list[OnFinding] = []
        self._lock = threading.Lock()

    def update(self, findings: Sequence[Finding], incidents: Sequence[Incident]) -> None:
        """What the latest check found. Callbacks are given what is new or more severe; what they raise is caught."""
        with self._lock:
            self._findings, self._incidents = tuple(findings), tuple(incidents)
            new = [finding for finding in findings if self._is_news(finding)]
            self._reported.update({(finding.slug, finding.metric): finding for finding in new})
            callbacks = list(self._callbacks)
        for finding in new:
            for callback in callbacks:
                _call(callback, finding)

    def _is_news(self, finding: Finding) -> bool:
        before = self._reported.get((finding.slug, finding.metric))
        return before is None or SEVERITIES.index(finding.severity) > SEVERITIES.index(before.severity)

    def on_finding(self, callback: OnFinding) -> None:
        """Call `callback` with each finding, starting with the ones so far."""
        with self._lock:
            self._callbacks.append(callback)
            earlier = list(self._reported.values())
        for finding in earlier:
            _call(callback, finding)

    def findings(self) -> list[Finding]:
        """The findings of the latest check."""
        with self._lock:
            return list(self._findings)

    def incidents(self) -> list[Incident]:
        """The incidents of the latest check."""
        with self._lock:
            return list(self._incidents)

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
