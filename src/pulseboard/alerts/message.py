"""A message: what a person, a chat or a program gets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote

from pulseboard.core.json_numbers import encode_numbers

Event = Literal["opened", "worse", "closed", "stalled", "resumed", "ended", "test"]

_LABELS: dict[Event, str] = {
    "opened": "",
    "worse": "now ",
    "closed": "over: ",
    "stalled": "",
    "resumed": "",
    "ended": "",
    "test": "",
}


@dataclass(frozen=True, slots=True)
class Curve:
    """The curve behind a finding, and the step that it begins at."""

    tag: str
    steps: list[int]
    values: list[float]
    first_step: int


@dataclass(frozen=True, slots=True)
class Message:
    """One message."""

    event: Event
    id: str  # the same in all messages about one incident of one run
    run: str
    severity: str  # info, warning, critical, or ok
    headline: str
    text: str  # the numbers, the likely cause and what to check
    link: str = ""
    curve: Curve | None = None
    incident: dict[str, Any] = field(default_factory=dict)  # as in the JSON report; empty if there is none

    @property
    def title(self) -> str:
        """`critical: runs/new: The loss became NaN`."""
        return f"{_LABELS[self.event]}{self.severity}: {self.run}: {self.headline}"

    @property
    def body(self) -> str:
        """The text and the link."""
        return "\n".join(part for part in (self.text, self.link) if part) or self.headline

    def to_dict(self) -> dict[str, Any]:
        """As a webhook gets it. `text` alone is enough for Slack and Mattermost."""
        return {
            "schema": 1,
            "event": self.event,
            "id": self.id,
            "run": self.run,
            "severity": self.severity,
            "title": self.title,
            "text": f"{self.title}\n{self.body}",
            "link": self.link,
            "incident": encode_numbers(self.incident),
        }


def test_message(link: str) -> Message:
    """A message that says that messages arrive, with the picture of a curve."""
    curve = Curve("train/loss", list(range(50)), [4.0 / (1 + i / 5) for i in range(50)], 30)
    return Message("test", "test", "test", "info", "This is a test of your alerts", "It works.", link, curve)


def link_to(base: str, run: str) -> str:
    """The dashboard's page about a run; empty if its address is unknown."""
    return f"{base}/#health&run={quote(run, safe='')}" if base else ""
