"""Alerts: when to send a message about an incident of a live run. One message opens it, and one closes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from pulseboard.core.finding import SEVERITIES, Finding, Incident, RunReport
from pulseboard.diagnose.judge.incidents import MACHINE
from pulseboard.diagnose.report.sentences import cause_sentence

Event = Literal["opened", "worse", "updated", "closed"]


@dataclass(frozen=True, slots=True)
class Alert:
    """A message about an incident."""

    event: Event
    id: str  # of the incident when it opened; the same in all alerts about it
    incident: Incident
    lead: Finding

    @property
    def text(self) -> str:
        """One line, as a chat shows it: what, since when, the likely cause and what to check."""
        if self.event == "closed":
            return f"over since step {self.incident.last_step:,}: {self.lead.slug}. {self.incident.headline}."
        return f"{self.incident.severity} {self.lead.slug}. {self.sentences}"

    @property
    def sentences(self) -> str:
        """The headline, the numbers, the likely cause and what to check; of one that is over, since when."""
        one = self.incident
        if self.event == "closed":
            return f"Over since step {one.last_step:,}: {one.headline}."
        parts = [f"{one.headline}.", self.lead.summary]
        if one.causes:
            cause = one.causes[0]
            label, sentence = cause_sentence([cause])
            parts.append(f"{label}: {sentence}.")
        if one.next_check is not None:
            parts.append(f"Next: {one.next_check.do}")
        return " ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """As posted to a webhook, next to the text and the run. `finding` is the one that leads the incident."""
        return {
            "event": self.event,
            "id": self.id,
            "incident": self.incident.to_dict(),
            "finding": self.lead.to_dict(),
        }


@dataclass(slots=True)
class _Open:
    id: str
    severity: str
    last: Alert
    closing_sent: bool = False


class Alerts:
    """Which messages have been sent about the incidents of one run.

    A run has at most one incident of the model and one of the machine. While one lasts, its headline, its first step
    and the finding that leads it may change as more is seen; it stays the same incident. Only a higher severity is
    worth another message, or, with `updates`, another leading finding or likely cause as well. One that is over and
    comes back is the same one again.
    """

    def __init__(self, *, updates: bool = False) -> None:
        self._updates = updates
        self._open: dict[bool, _Open] = {}  # by whether it is one of the machine

    def update(self, report: RunReport) -> list[Alert]:
        """The messages to send after a check."""
        current = {report.findings[one.findings[0]].slug in MACHINE: one for one in report.incidents}
        return [alert for kind in (False, True) for alert in self._update(kind, current.get(kind), report)]

    def _update(self, kind: bool, incident: Incident | None, report: RunReport) -> Iterator[Alert]:
        known = self._open.get(kind)
        if incident is None:
            # Later points have shown that it was nothing, or that it is over.
            self._open.pop(kind, None)
            if known is not None and not known.closing_sent:
                yield replace(known.last, event="closed")
            return
        lead = report.findings[incident.findings[0]]
        if known is None:
            opened = Alert("opened", incident.id, incident, lead)
            known = self._open[kind] = _Open(incident.id, incident.severity, opened)
            yield opened
        elif SEVERITIES.index(incident.severity) > SEVERITIES.index(known.severity):
            known.severity = incident.severity
            known.closing_sent = False
            yield Alert("worse", known.id, incident, lead)
        elif self._updates and _gist(incident, lead) != _gist(known.last.incident, known.last.lead):
            yield Alert("updated", known.id, incident, lead)
        known.last = Alert("opened", known.id, incident, lead)
        if not incident.open and not known.closing_sent:
            known.closing_sent = True
            yield Alert("closed", known.id, incident, lead)


def _gist(incident: Incident, lead: Finding) -> tuple[str, str]:
    """What a person would call another problem: the leading finding and the likely cause."""
    return lead.slug, incident.causes[0].slug if incident.causes else ""
