"""Tables: hyperparameters and configuration of runs beside the numbers of their metrics."""

from __future__ import annotations

from typing import Any

from pulseboard.serve import schema
from pulseboard.serve.board import Board
from pulseboard.serve.endpoint import Ask, endpoint
from pulseboard.serve.routes.runs import SOME_RUNS, TAG

_STATISTICS = ("last", "min", "max", "best")

_COLUMN = schema.answer(
    "Column",
    {
        "name": schema.text(),
        "kind": schema.choice("run", "hparam", "config", "metric"),
        "metric": schema.or_null(schema.text()),
        "statistic": schema.or_null(schema.choice(*_STATISTICS)),
    },
)
_SETTINGS = schema.by_name(schema.any_value())
_HPARAMS = schema.answer(
    "RunHparams",
    {
        "hparams": _SETTINGS,
        "config": _SETTINGS,
        "metrics": schema.by_name(schema.or_null(schema.spelled_number("the last value"))),
    },
)


@endpoint(
    "POST",
    "table",
    "Hyperparameters, configuration and last, min, max and best of metrics.",
    body=schema.record(
        {
            "runs": schema.or_null({**SOME_RUNS, "default": None}),
            "metrics": schema.several(TAG, most=1000, default=[]),
            "better": schema.by_name(schema.choice("min", "max"), "tag: which end of it is best", most=1000),
        }
    ),
    gives=schema.answer(
        "Table",
        {
            "columns": schema.several(_COLUMN, most=1_000_000),
            "rows": schema.several(schema.several(schema.any_value(), most=1_000_000), most=1_000_000),
        },
    ),
)
def table(board: Board, ask: Ask) -> dict[str, Any]:
    runs = board.runs(ask["runs"])
    ask.same_since(board.state_of(runs))
    made = board.store.table(runs, ask["metrics"], better=ask.values.get("better"))
    columns: list[dict[str, Any]] = [{"name": "run", "kind": "run", "metric": None, "statistic": None}]
    columns += [{"name": name, "kind": "hparam", "metric": None, "statistic": None} for name in made.hparams]
    columns += [{"name": name, "kind": "config", "metric": None, "statistic": None} for name in made.config]
    columns += [
        {"name": f"{metric} ({statistic})", "kind": "metric", "metric": metric, "statistic": statistic}
        for metric in made.metrics
        for statistic in _STATISTICS
    ]
    rows = [
        [
            row.run,
            *(row.hparams.get(name) for name in made.hparams),
            *(row.config.get(name) for name in made.config),
            *(
                getattr(row.metrics.get(metric), statistic, None)
                for metric in made.metrics
                for statistic in _STATISTICS
            ),
        ]
        for row in made.rows
    ]
    return {"columns": columns, "rows": rows}


@endpoint(
    "GET",
    "hparams",
    "Hyperparameters, configuration and last values of every run.",
    query={"run": SOME_RUNS},
    gives=schema.record({"runs": schema.by_name(_HPARAMS)}, required=("runs",)),
)
def hparams(board: Board, ask: Ask) -> dict[str, Any]:
    runs = board.runs(ask["run"])
    ask.same_since(board.state_of(runs))
    rows = board.store.table(runs).rows
    return {
        "runs": {
            row.run: {
                "hparams": row.hparams,
                "config": row.config,
                "metrics": {stats.tag: stats.last for stats in board.run(row.run).stats()},
            }
            for row in rows
        }
    }
