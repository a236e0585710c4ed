"""Live diagnosis of an active run: findings while it trains."""

from __future__ import annotations

from pulseboard.core.finding import Finding, Incident, Severity
from pulseboard.record.live_findings import LiveFindings, OnFinding


class LiveDiagnosis:
    """Methods of ActiveRun. The first call of any of them starts live diagnosis."""

    _live_findings: LiveFindings

    def start_diagnosis(self) -> None:
        """Start live diagnosis if it is not running."""
        raise NotImplementedError

    @property
    def findings(self) -> list[Finding]:
        """The findings of live diagnosis, as of its latest check. Reading this for the first time starts it."""
        self.start_diagnosis()
        return self._live_findings.findings()

    @property
    def incidents(self) -> list[Incident]:
        """The incidents of live diagnosis: findings that belong to one problem, under one headline."""
        self.start_diagnosis()
        return self._live_findings.incidents()

    def on_finding(self, callback: OnFinding) -> None:
        """Call `callback` with each new finding, and again if it becomes more severe, on another thread."""
        self.start_diagnosis()
        self._live_findings.on_finding(callback)

    def should_stop(self, on: Severity = "critical") -> bool:
        """Whether live diagnosis has a finding of severity `on` or above. Cheap enough to call at every step."""
        self.start_diagnosis()
        return self._live_findings.should_stop(on)
