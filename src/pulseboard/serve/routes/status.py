"""The state of the server, and the OpenAPI document of its API."""

from __future__ import annotations

from typing import Any

from pulseboard.serve.http import schema
from pulseboard.serve.http.endpoint import ApiRequest, endpoint, load_endpoints
from pulseboard.serve.http.openapi import document
from pulseboard.serve.live.dashboard import Dashboard

_STATUS = schema.named_record(
    "ServerStatus",
    {
        "version": schema.string(),
        "title": schema.string(),
        "directories": schema.array(schema.string(), max_items=10_000),
        "loading": schema.nullable(
            schema.record({"done": schema.integer(), "total": schema.integer()}, required=("done", "total"))
        ),
        "revision": schema.integer(),
        "role": schema.choice("read", "full"),
        "user": schema.nullable(schema.string("the name of the token that the request has")),
        "findings": schema.boolean("whether this server diagnoses runs"),
        "alerts": schema.boolean("whether this server sends messages"),
    },
)


@endpoint("GET", "status", "What this server shows, and how much it has read.", returns=_STATUS, inline=True)
def status(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    loading = dashboard.loading
    return {
        "version": dashboard.version,
        "title": dashboard.title,
        "directories": dashboard.directories,
        "loading": None if loading is None else {"done": loading.done, "total": loading.total},
        "revision": dashboard.revisions.current,
        "role": request.role,
        "user": request.user,
        "findings": dashboard.diagnosis.available,
        "alerts": dashboard.alerts is not None,
    }


@endpoint("GET", "openapi.json", "This document.", inline=True)
def openapi(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    request.revalidate(dashboard.version)
    prefix = request.http.path.removesuffix("/api/openapi.json")
    return document(load_endpoints(), version=dashboard.version, prefix=prefix)
