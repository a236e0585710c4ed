"""Alerts: messages that a training sends to a webhook, in Slack's format."""

from __future__ import annotations

import json
import urllib.request

_TIMEOUT_SECS = 10.0


def post(webhook: str, *, title: str, text: str, level: str, run: str) -> None:
    """Post one alert. Raises OSError."""
    message = f"*{level.upper()}: {title}* ({run})" + (f"\n{text}" if text else "")
    request = urllib.request.Request(
        webhook, data=json.dumps({"text": message}).encode(), headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=_TIMEOUT_SECS):
        pass
