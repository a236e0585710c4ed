"""The x axis of charts: metrics that can be it, and where steps are on it."""

from __future__ import annotations

from typing import Any

from pulseboard.charts.query import BadQuery
from pulseboard.serve.http import schema
from pulseboard.serve.http.endpoint import ApiRequest, endpoint
from pulseboard.serve.http.errors import BadRequest
from pulseboard.serve.http.parameters import RUN, RUN_FILTER, STEP, TAG
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


_PLACE = schema.record({"run": RUN, "tag": TAG, "step": STEP}, required=("run", "tag", "step"))


@endpoint(
    "POST",
    "positions",
    "Where steps of runs are on another axis, such as those at which a finding begins and ends.",
    body=schema.record(
        {
            "x": schema.string("an axis, as in window"),
            "places": schema.array(_PLACE, max_items=10_000),
        },
        required=("x", "places"),
    ),
    returns=schema.named_record(
        "Positions",
        {
            "x": schema.array(
                schema.nullable(schema.number()),
                "one for each place; null if the run lacks the tag, or the metric that is the axis",
                max_items=10_000,
            )
        },
    ),
)
def positions(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    places = request["places"]
    by_curve: dict[tuple[str, str], list[int]] = {}
    for i, place in enumerate(places):
        by_curve.setdefault((place["run"], place["tag"]), []).append(i)
    found: list[float | None] = [None] * len(places)
    for (run, tag), indexes in by_curve.items():
        steps = [places[i]["step"] for i in indexes]
        try:
            xs = dashboard.charts.x_of_steps(dashboard.run(run).name, tag, steps, x=request["x"])
        except BadQuery as error:
            raise BadRequest(str(error)) from error
        for i, x in zip(indexes, xs, strict=True):
            found[i] = x
    return {"x": found}
