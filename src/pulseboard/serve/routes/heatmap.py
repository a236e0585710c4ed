"""Heatmaps of families of tags."""

from __future__ import annotations

import numpy as np

from pulseboard.charts.derived.heatmap import MAX_COLUMNS
from pulseboard.charts.query import BadQuery
from pulseboard.serve.http import columns, schema
from pulseboard.serve.http.endpoint import ApiRequest, endpoint
from pulseboard.serve.http.errors import BadRequest
from pulseboard.serve.http.parameters import RUN
from pulseboard.serve.http.responses import COLUMNS, Response
from pulseboard.serve.live.dashboard import Dashboard


@endpoint(
    "GET",
    "heatmap",
    "The values of a family of tags over steps, as binary columns: one row of `values` per member, the smallest number "
    "first. A cell is the mean of its points; NaN if it has none, infinite if one of them is not finite.",
    query={
        "run": RUN,
        "family": schema.string("the tags, with {i} in place of the number: gradient_norm/layer_{i}"),
        "from": schema.number("the first step; by default that of the first point"),
        "to": schema.number("the last step; by default that of the last point"),
        "columns": schema.integer("number of columns; fewer if there are fewer points", minimum=1, maximum=MAX_COLUMNS),
    },
    required=("run", "family"),
    media_type=COLUMNS,
)
def heatmap(dashboard: Dashboard, request: ApiRequest) -> Response:
    run = dashboard.run(request["run"])
    request.revalidate(dashboard.state_of([run.name]))
    revision = dashboard.revisions.current
    try:
        found = dashboard.charts.heatmap(
            run.name, request["family"], start=request["from"], end=request["to"], columns=request["columns"] or 400
        )
    except BadQuery as error:
        raise BadRequest(str(error)) from error
    header = {"run": run.name, "tag": request["family"], "members": found.members, "span": found.span}
    cells = found.values.astype(np.float64).ravel()
    return Response(columns.encode([(header, {"x": found.steps, "values": cells})], revision=revision), COLUMNS)
