"""Artifacts: the files that runs kept, as lists and as downloads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, BinaryIO
from urllib.parse import quote

from pulseboard.read.artifacts import artifacts_of, open_artifact
from pulseboard.serve.http import schema
from pulseboard.serve.http.endpoint import ApiRequest, endpoint
from pulseboard.serve.http.errors import NotFound
from pulseboard.serve.http.parameters import RUN
from pulseboard.serve.http.responses import StreamingResponse, finite
from pulseboard.serve.live.dashboard import Dashboard

_CHUNK_BYTES = 1 << 18
_ARTIFACT = schema.named_record(
    "Artifact",
    {
        "name": schema.string("as the training named it; with slashes if it is from a directory", max_length=1_000_000),
        "sha256": schema.string("the hash of its content"),
        "bytes": schema.integer(),
        "time": schema.number("when it was kept, in seconds since 1970"),
    },
)


@endpoint(
    "GET",
    "artifacts",
    "The files that a run kept.",
    query={"run": RUN},
    required=("run",),
    returns=schema.record({"items": schema.array(_ARTIFACT, max_items=1_000_000)}, required=("items",)),
)
def artifacts(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    return {
        "items": [
            {"name": one.name, "sha256": one.sha256, "bytes": one.size, "time": finite(one.time)}
            for one in artifacts_of(dashboard.run(request["run"]))
        ]
    }


@endpoint(
    "GET",
    "artifact",
    "The content of a file that a run kept, as a download.",
    query={"run": RUN, "sha256": schema.string("which one", max_length=64)},
    required=("run", "sha256"),
    media_type="application/octet-stream",
)
def artifact(dashboard: Dashboard, request: ApiRequest) -> StreamingResponse:
    run = dashboard.run(request["run"])
    one = next((one for one in artifacts_of(run) if one.sha256 == request["sha256"]), None)
    if one is None:
        raise NotFound(f"Run {run.name!r} has no such artifact.", do="api/artifacts lists them.")
    content = open_artifact(run, one)
    # Whatever the file is, a browser saves it and never shows it.
    name = quote(one.name.rpartition("/")[2].encode("utf-8", "replace"), safe="")
    headers = {
        "content-disposition": f"attachment; filename*=UTF-8''{name}",
        "content-security-policy": "default-src 'none'; sandbox",
    }
    return StreamingResponse(_chunks(content), "application/octet-stream", headers=headers, on_end=content.close)


async def _chunks(content: BinaryIO) -> AsyncIterator[bytes]:
    while chunk := await asyncio.to_thread(content.read, _CHUNK_BYTES):
        yield chunk
