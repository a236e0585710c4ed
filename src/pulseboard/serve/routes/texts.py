"""Texts that were logged, and Markdown that users write, as HTML that is safe to show."""

from __future__ import annotations

from typing import Any

from pulseboard.serve.http import schema
from pulseboard.serve.http.endpoint import ApiRequest, endpoint
from pulseboard.serve.http.parameters import RUN, STEP, TAG
from pulseboard.serve.http.responses import finite
from pulseboard.serve.live.dashboard import Dashboard
from pulseboard.serve.security.markdown import as_plain_html, to_html

# Older texts beyond this are sent without formatting.
_MAX_RENDERED_CHARACTERS = 1_000_000
# Of what a user writes.
_MAX_LENGTH = 50_000

_ITEM = schema.named_record(
    "TextItem",
    {
        "step": STEP,
        "wall_time": schema.number(),
        "text": schema.string(max_length=100_000_000),
        "html": schema.string(max_length=100_000_000),
    },
)


@endpoint(
    "GET",
    "texts",
    "The texts of a tag; `html` is their Markdown rendered and sanitized.",
    query={
        "run": RUN,
        "tag": TAG,
        "limit": schema.integer("return at most this many, the newest", minimum=1, maximum=1000, default=100),
    },
    required=("run", "tag"),
    returns=schema.named_record(
        "Texts",
        {"items": schema.array(_ITEM, max_items=1000), "total": schema.integer("how many texts the tag has")},
    ),
)
def texts(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    run = dashboard.run(request["run"])
    request.revalidate(dashboard.state_of([run.name]))
    every = dashboard.values(run, request["tag"], kind="text")
    newest = every[-request["limit"] :]
    items = []
    left = _MAX_RENDERED_CHARACTERS
    for one in reversed(newest):
        text = one.text
        left -= len(text)
        html = to_html(text) if left >= 0 or one is newest[-1] else as_plain_html(text)
        items.append({"step": one.step, "wall_time": finite(one.wall_time), "text": text, "html": html})
    return {"items": items[::-1], "total": len(every)}


@endpoint(
    "POST",
    "markdown",
    "Markdown rendered and sanitized.",
    body=schema.record({"text": schema.string("Markdown", max_length=_MAX_LENGTH)}, required=("text",)),
    returns=schema.named_record("RenderedText", {"html": schema.string(max_length=100 * _MAX_LENGTH)}),
)
def markdown(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    return {"html": to_html(request["text"])}
