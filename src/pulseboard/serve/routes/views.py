"""Views of the page that users saved by name."""

from __future__ import annotations

from typing import Any

from pulseboard.serve.http import schema
from pulseboard.serve.http.endpoint import ApiRequest, endpoint
from pulseboard.serve.http.errors import TooLarge
from pulseboard.serve.http.responses import Response, json_response
from pulseboard.serve.live.dashboard import Dashboard
from pulseboard.serve.saved_views import HASH, MAX_VIEWS, SAVED_VIEW

_VIEWS = schema.record({"views": schema.array(SAVED_VIEW, max_items=1_000_000)}, required=("views",))


@endpoint(
    "GET",
    "views",
    "The saved views of these log directories.",
    query={"download": schema.boolean("as a file download", default=False)},
    returns=_VIEWS,
)
def views(dashboard: Dashboard, request: ApiRequest) -> Response:
    response = json_response({"views": dashboard.views.all()})
    if request["download"]:
        response.headers["content-disposition"] = 'attachment; filename="pulseboard-views.json"'
    return response


@endpoint(
    "PUT",
    "views",
    "Save views by name; null removes one.",
    body=schema.record(
        {
            "views": schema.mapping(
                schema.nullable(HASH), "what follows # in the address, by name", max_entries=MAX_VIEWS
            )
        },
        required=("views",),
    ),
    returns=_VIEWS,
    full_role=True,
)
def set_views(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    names = {view["name"] for view in dashboard.views.all()} | set(request["views"])
    if len(names) > MAX_VIEWS:
        raise TooLarge(f"There are {len(names)} views; at most {MAX_VIEWS} are kept.", do="Remove some first.")
    dashboard.views.set(request["views"], by=request.user)
    return {"views": dashboard.views.all()}
