"""Metrics that can be the x axis of charts."""

from __future__ import annotations

from typing import Any

from pulseboard.serve.http import schema
from pulseboard.serve.http.endpoint import ApiRequest, endpoint
from pulseboard.serve.http.parameters import RUN_FILTER
from pulseboard.serve.live.dashboard import Dashboard

_METRIC = schema.named_record(
    "XAxisMetric",
    {"tag": schema.string(), "rises": schema.boolean("never falls, and ends higher than it begins")},
)


@endpoint(
    "GET",
    "x_axes",
    "The metrics of the first few runs that can be the x axis of charts (x=tag:NAME), those that rise first.",
    query={"run": RUN_FILTER},
    returns=schema.record({"metrics": schema.array(_METRIC, max_items=1_000_000)}, required=("metrics",)),
)
def x_axes(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    names = dashboard.run_names(request["run"])
    request.revalidate(dashboard.state_of(names))
    found = dashboard.charts.x_axis_metrics(names)
    return {"metrics": [{"tag": metric.tag, "rises": metric.rises} for metric in found]}
