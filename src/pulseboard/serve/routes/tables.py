"""Tables: hyperparameters and config of runs next to the values of their metrics."""

from __future__ import annotations

from typing import Any

from pulseboard.serve.http import schema
from pulseboard.serve.http.endpoint import ApiRequest, endpoint
from pulseboard.serve.http.parameters import RUN_FILTER, RUNS, TAG
from pulseboard.serve.live.dashboard import Dashboard

_STATISTICS = ("last", "min", "max", "best")

_COLUMN = schema.named_record(
    "Column",
    {
        "name": schema.string(),
        "kind": schema.choice("run", "hparam", "config", "metric"),
        "metric": schema.nullable(schema.string()),
        "statistic": schema.nullable(schema.choice(*_STATISTICS)),
    },
)
_SETTINGS = schema.mapping(schema.any_value())
_HPARAMS = schema.named_record(
    "RunHparams",
    {
        "hparams": _SETTINGS,
        "config": _SETTINGS,
        "metrics": schema.mapping(schema.nullable(schema.number_or_nan("the last value"))),
    },
)


@endpoint(
    "POST",
    "table",
    "Hyperparameters, config, and last, min, max and best of metrics.",
    body=schema.record(
        {
            "runs": schema.nullable({**RUNS, "default": None}),
            "metrics": schema.array(TAG, max_items=1000, default=[]),
            "better": schema.mapping(
                schema.choice("min", "max"), "tag -> whether its min or its max is best", max_entries=1000
            ),
        }
    ),
    returns=schema.named_record(
        "Table",
        {
            "columns": schema.array(_COLUMN, max_items=1_000_000),
            "rows": schema.array(schema.array(schema.any_value(), max_items=1_000_000), max_items=1_000_000),
        },
    ),
)
def table(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    runs = dashboard.run_names(request["runs"])
    request.revalidate(dashboard.state_of(runs))
    run_table = dashboard.charts.table(runs, request["metrics"], better=request.values.get("better"))
    columns: list[dict[str, Any]] = [{"name": "run", "kind": "run", "metric": None, "statistic": None}]
    columns += [{"name": name, "kind": "hparam", "metric": None, "statistic": None} for name in run_table.hparams]
    columns += [{"name": name, "kind": "config", "metric": None, "statistic": None} for name in run_table.config]
    columns += [
        {"name": f"{metric} ({statistic})", "kind": "metric", "metric": metric, "statistic": statistic}
        for metric in run_table.metrics
        for statistic in _STATISTICS
    ]
    rows = [
        [
            row.run,
            *(row.hparams.get(name) for name in run_table.hparams),
            *(row.config.get(name) for name in run_table.config),
            *(
                getattr(row.metrics.get(metric), statistic, None)
                for metric in run_table.metrics
                for statistic in _STATISTICS
            ),
        ]
        for row in run_table.rows
    ]
    return {"columns": columns, "rows": rows}


@endpoint(
    "GET",
    "hparams",
    "Hyperparameters, config and last values of runs.",
    query={"run": RUN_FILTER},
    returns=schema.record({"runs": schema.mapping(_HPARAMS)}, required=("runs",)),
)
def hparams(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    runs = dashboard.run_names(request["run"])
    request.revalidate(dashboard.state_of(runs))
    rows = dashboard.charts.table(runs).rows
    return {
        "runs": {
            row.run: {
                "hparams": row.hparams,
                "config": row.config,
                "metrics": {stats.tag: stats.last for stats in dashboard.run(row.run).stats()},
            }
            for row in rows
        }
    }
