"""Exports: the points of runs and tags as a file, streamed while it is written."""

from __future__ import annotations

from pulseboard.serve.http import schema
from pulseboard.serve.http.endpoint import ApiRequest, endpoint
from pulseboard.serve.http.parameters import ORPHANS, REGEX, RUN_FILTER, TAG
from pulseboard.serve.http.responses import StreamingResponse
from pulseboard.serve.live.dashboard import Dashboard
from pulseboard.serve.live.export_stream import MEDIA_TYPES, stream_export
from pulseboard.serve.security.safe_regex import SafeRegex

_TAGS = schema.array(TAG, "only these tags; all scalars if absent", max_items=10_000)
_FILTER = {**REGEX, "description": "only tags that match this regular expression"}


@endpoint(
    "GET",
    "export",
    "The points of runs and tags as CSV, JSON or Parquet.",
    query={
        "format": schema.choice(*MEDIA_TYPES, default="csv"),
        "run": RUN_FILTER,
        "tag": _TAGS,
        "filter": _FILTER,
        "orphans": ORPHANS,
    },
    media_type="text/csv",
)
def export(dashboard: Dashboard, request: ApiRequest) -> StreamingResponse:
    return _stream(dashboard, request, runs=request["run"], tags=request["tag"])


@endpoint(
    "POST",
    "export",
    "The same for any number of runs: a URL with thousands of names would be too long.",
    body={
        "title": "ExportQuery",
        **schema.record(
            {
                "format": schema.choice(*MEDIA_TYPES, default="csv"),
                "runs": schema.nullable({**RUN_FILTER, "default": None}),
                "tags": schema.nullable({**_TAGS, "default": None}),
                "filter": schema.nullable({**_FILTER, "default": None}),
                "orphans": ORPHANS,
            }
        ),
    },
    media_type="text/csv",
)
def export_many(dashboard: Dashboard, request: ApiRequest) -> StreamingResponse:
    return _stream(dashboard, request, runs=request["runs"], tags=request["tags"])


def _stream(
    dashboard: Dashboard, request: ApiRequest, *, runs: list[str] | None, tags: list[str] | None
) -> StreamingResponse:
    wanted = None if tags is None else set(tags)
    regex = SafeRegex(request["filter"]) if request["filter"] else None
    picked = []
    for name in dashboard.run_names(runs):
        # What other ranks logged is exported under names of its own, such as exp/ranks/1.
        for run in dashboard.run(name).ranks.values():
            found = [tag for tag in run.tags("scalar") if wanted is None or tag in wanted]
            picked.append((run, found if regex is None else regex.filter(found)))
    return stream_export(picked, form=request["format"], orphans=request["orphans"])
