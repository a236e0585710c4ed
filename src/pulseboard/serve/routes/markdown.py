"""Markdown that users write, as HTML that is safe to show."""

from __future__ import annotations

from typing import Any

from pulseboard.serve.http import schema
from pulseboard.serve.http.endpoint import ApiRequest, endpoint
from pulseboard.serve.live.dashboard import Dashboard
from pulseboard.serve.security.markdown import to_html

_MAX_LENGTH = 50_000


@endpoint(
    "POST",
    "markdown",
    "Markdown rendered and sanitized.",
    body=schema.record({"text": schema.string("Markdown", max_length=_MAX_LENGTH)}, required=("text",)),
    returns=schema.named_record("RenderedText", {"html": schema.string(max_length=100 * _MAX_LENGTH)}),
)
def markdown(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    return {"html": to_html(request["text"])}
