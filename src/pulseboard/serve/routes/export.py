"""Exports: the points of runs and tags as a file, streamed while it is written."""

from __future__ import annotations

from pulseboard.serve.http import schema
from pulseboard.serve.http.endpoint import ApiRequest, endpoint
from pulseboard.serve.http.parameters import ORPHANS, REGEX, RUN_FILTER, TAG
from pulseboard.serve.http.responses import StreamingResponse
from pulseboard.serve.live.dashboard import Dashboard
from pulseboard.serve.live.export_stream import MEDIA_TYPES, stream_export
from pulseboard.serve.security.safe_regex import SafeRegex


@endpoint(
    "GET",
    "export",
    "The points of runs and tags as CSV, JSON or Parquet.",
    query={
        "format": schema.choice(*MEDIA_TYPES, default="csv"),
        "run": RUN_FILTER,
        "tag": schema.array(TAG, "only these tags; all scalars if absent", max_items=10_000),
        "filter": {**REGEX, "description": "only tags that match this regular expression"},
        "orphans": ORPHANS,
    },
    media_type="text/csv",
)
def export(dashboard: Dashboard, request: ApiRequest) -> StreamingResponse:
    wanted = None if request["tag"] is None else set(request["tag"])
    regex = SafeRegex(request["filter"]) if request["filter"] else None
    picked = []
    for name in dashboard.run_names(request["run"]):
        # What other ranks logged is exported under names of its own, such as exp/ranks/1.
        for run in dashboard.run(name).ranks.values():
            tags = [tag for tag in run.tags("scalar") if wanted is None or tag in wanted]
            picked.append((run, tags if regex is None else regex.filter(tags)))
    return stream_export(picked, form=request["format"], orphans=request["orphans"])
