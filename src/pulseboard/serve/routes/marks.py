"""Marks that users give runs."""

from __future__ import annotations

from typing import Any

from pulseboard.serve.http import schema
from pulseboard.serve.http.endpoint import ApiRequest, endpoint
from pulseboard.serve.http.responses import Response, json_response
from pulseboard.serve.live.dashboard import Dashboard
from pulseboard.serve.marks import MARKS

_MARKS_BY_RUN = schema.record(
    {"marks": schema.mapping(schema.nullable(MARKS), "by run", max_entries=20_000)}, required=("marks",)
)


@endpoint(
    "GET",
    "marks",
    "The marks of every run that has any.",
    lane="quick",
    query={"download": schema.boolean("as a file download", default=False)},
    returns=_MARKS_BY_RUN,
)
def marks(dashboard: Dashboard, request: ApiRequest) -> Response:
    response = json_response({"marks": dashboard.marks_by_run()})
    if request["download"]:
        response.headers["content-disposition"] = 'attachment; filename="pulseboard-marks.json"'
    return response


@endpoint(
    "PUT",
    "marks",
    "Set the marks of runs; null removes them.",
    body=_MARKS_BY_RUN,
    returns=_MARKS_BY_RUN,
    full_role=True,
)
def set_marks(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    dashboard.set_marks(request["marks"], by=request.user)
    return {"marks": dashboard.marks_by_run()}
