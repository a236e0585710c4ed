"""Sending one message to one destination: a webhook gets JSON, everything else goes through Apprise."""

from __future__ import annotations

import json
import os
import tempfile
import urllib.error
import urllib.request
from typing import Any

from pulseboard.alerts.message import Message
from pulseboard.alerts.picture import png_of
from pulseboard.alerts.rules import Destination
from pulseboard.core.errors import MissingPackage, PulseboardError

_TIMEOUT_SECS = 15.0


class NotSent(PulseboardError):
    """A message did not arrive."""

    def __init__(self, destination: Destination, why: str) -> None:
        self.destination = destination
        super().__init__(f"The alert could not be sent to {destination.name!r}: {why}.")


def check_destination(destination: Destination) -> None:
    """Raise an error if a destination can never work."""
    if not destination.is_webhook:
        _apprise(destination)


def send(message: Message, destination: Destination, *, chart: bool = True) -> None:
    """Send a message. Raises NotSent."""
    if destination.is_webhook:
        _post(message, destination)
    else:
        _notify(message, destination, chart=chart)


def _post(message: Message, destination: Destination) -> None:
    request = urllib.request.Request(
        destination.url,
        data=json.dumps(message.to_dict()).encode(),
        headers={"Content-Type": "application/json", "User-Agent": "pulseboard"},
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECS):
            pass
    except urllib.error.HTTPError as error:
        with error:
            raise NotSent(destination, f"it answered {error.code} {error.reason}") from None
    except (OSError, ValueError) as error:
        raise NotSent(destination, str(getattr(error, "reason", None) or error)) from None


def _notify(message: Message, destination: Destination, *, chart: bool) -> None:
    service = _apprise(destination)
    picture = png_of(message.curve) if chart and message.curve is not None else None
    kinds = {"critical": "failure", "warning": "warning", "ok": "success"}
    given = {"title": message.title, "body": message.body, "notify_type": kinds.get(message.severity, "info")}
    with tempfile.TemporaryDirectory(prefix="pulseboard-alert-") as directory:
        if picture is not None:
            path = os.path.join(directory, "chart.png")
            with open(path, "wb") as stream:
                stream.write(picture)
            given["attach"] = path
        if not service.notify(**given):
            raise NotSent(destination, "the service refused it or cannot be reached")


def _apprise(destination: Destination) -> Any:
    try:
        import apprise
    except ImportError as error:
        raise MissingPackage(f"The destination {destination.name!r}", package="apprise", extra="alerts") from error
    service = apprise.Apprise()
    if not service.add(destination.url):
        raise NotSent(destination, "its url is not one that Apprise knows; see the guide to alerts")
    return service
