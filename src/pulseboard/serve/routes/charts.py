"""Curves: windows of series, statistics over groups of runs, and raw points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pulseboard.serve import answers, columns, patterns, schema
from pulseboard.serve.answers import Answer
from pulseboard.serve.board import Board
from pulseboard.serve.endpoint import Ask, endpoint
from pulseboard.serve.errors import BadRequest, TooLarge
from pulseboard.serve.routes.runs import PATTERN, RUN, SOME_RUNS, TAG
from pulseboard.store.query import AXES, MOST_BUCKETS, SMOOTHINGS, BadQuery, GroupQuery, Query, Smoothing

if TYPE_CHECKING:
    from pulseboard.store.query import Group, Window

# One answer draws a page of charts; more than this is no picture any more.
_MOST_SERIES = 20_000
_MOST_CELLS = 20_000_000
_MOST_POINTS = 100_000

_SMOOTHING = schema.record(
    {
        "kind": schema.choice(*SMOOTHINGS),
        "weight": schema.number("what it means depends on the kind", default=0.6),
    },
    required=("kind",),
)
_WINDOW = {
    "runs": SOME_RUNS,
    "tags": schema.several(TAG, most=1000, minItems=1),
    "x": schema.choice(*AXES, default="step"),
    "from": schema.or_null(schema.number("null: from the first point", default=None)),
    "to": schema.or_null(schema.number("null: to the last point", default=None)),
    "buckets": schema.whole("columns of pixels", least=1, most=MOST_BUCKETS, default=1000),
    "log_x": schema.flag(default=False),
    "smoothing": schema.or_null({**_SMOOTHING, "default": None}),
    "orphans": schema.flag("also what a restart took the place of", default=False),
    "rank": schema.or_null(schema.whole("of a job of many processes; null: 0", most=1_000_000, default=None)),
}
_SHOWN = ("x", "y", "first", "min", "max", "last", "smooth", "orphan")

_STATISTICS = {
    # name: the middle, then the band around it, each from the columns of a group
    "mean-sd": lambda c: (c["mean"], c["mean"] - c["sd"], c["mean"] + c["sd"]),
    "mean-se": lambda c: (c["mean"], c["mean"] - c["se"], c["mean"] + c["se"]),
    "mean-95": lambda c: (c["mean"], c["low"], c["high"]),
    "median-range": lambda c: (c["median"], c["min"], c["max"]),
}


@endpoint(
    "POST",
    "window",
    "What charts draw: tags of runs between two x, in so many columns, as binary columns.",
    body={"title": "WindowQuery", **schema.record(_WINDOW, required=("runs", "tags"))},
    media_type=answers.COLUMNS,
)
def window(board: Board, ask: Ask) -> Answer:
    runs = board.runs(ask["runs"])
    ask.same_since(board.state_of(runs))
    _bounded(len(runs), ask)
    revision = board.journal.revision
    found = board.store.window(_query(Query, runs, ask))
    return Answer(columns.encode(((_about(one), _drawn(one)) for one in found), revision=revision), answers.COLUMNS)


def _about(one: Window) -> dict[str, Any]:
    return {
        "run": one.run,
        "tag": one.tag,
        "points": one.points,
        "exact": one.exact,
        "nan": one.nan,
        "inf": one.inf,
        "smoothed": one.smoothed,
    }


def _drawn(one: Window) -> dict[str, Any]:
    shown = {name: one.columns[name] for name in _SHOWN if name in one.columns}
    # Most curves have neither, and a column of zeros says nothing.
    odd = {"nan": one.nan, "plus_inf": one.inf, "minus_inf": one.inf}
    return shown | {name: one.columns[name] for name, n in odd.items() if n and name in one.columns}


@endpoint(
    "POST",
    "groups",
    "Statistics over runs that belong together, as binary columns: one series a tag and group.",
    body={
        "title": "GroupsQuery",
        **schema.record(
            {
                **_WINDOW,
                "by": schema.or_null(
                    {
                        **schema.record(
                            {"regex": schema.or_null(PATTERN), "hparam": schema.or_null(schema.text(most=1000))}
                        ),
                        "description": "a group has the same match, or the same value; null: all runs are one group",
                        "default": None,
                    }
                ),
                "statistic": schema.choice(*_STATISTICS, default="mean-sd"),
            },
            required=("runs", "tags"),
        ),
    },
    media_type=answers.COLUMNS,
)
def groups(board: Board, ask: Ask) -> Answer:
    runs = board.runs(ask["runs"])
    ask.same_since(board.state_of(runs))
    _bounded(len(runs), ask)
    revision = board.journal.revision
    by = ask["by"] or {}
    if by.get("regex") and by.get("hparam"):
        raise BadRequest("Runs are grouped by a regex or by a hyperparameter; both were given.")
    found: list[tuple[str, Group]] = []
    if by.get("regex"):
        # Matched here, where an expression that explodes is stopped, and not by the store.
        members: dict[str, list[str]] = {}
        pattern = patterns.Pattern(by["regex"])
        for name in runs:
            if (label := pattern.group(name)) is not None:
                members.setdefault(label, []).append(name)
        for label, names in members.items():
            found += [(label, group) for group in board.store.groups(_query(GroupQuery, names, ask))]
    else:
        query = _query(GroupQuery, runs, ask, by_hparam=by.get("hparam") or None)
        found = [(group.name, group) for group in board.store.groups(query)]
    series = []
    for label, group in found:
        middle, low, high = _STATISTICS[ask["statistic"]](group.columns)
        about = {"group": label, "runs": group.runs, "tag": group.tag, "points": len(middle), "exact": True}
        band = {"x": group.columns["x"], "y": middle, "low": low, "high": high, "count": group.columns["count"]}
        series.append((about, band))
    return Answer(columns.encode(series, revision=revision), answers.COLUMNS)


def _bounded(runs: int, ask: Ask) -> None:
    if runs * len(ask["tags"]) > _MOST_SERIES:
        raise TooLarge(f"{runs} runs x {len(ask['tags'])} tags were asked for.", do=f"Ask for {_MOST_SERIES} at most.")
    if runs * len(ask["tags"]) * ask["buckets"] > _MOST_CELLS:
        raise TooLarge("So many runs, tags and buckets make too large an answer.", do="Ask for fewer buckets or runs.")


def _query(kind: Any, runs: list[str], ask: Ask, **more: Any) -> Any:
    smoothing = ask["smoothing"]
    try:
        return kind(
            runs=runs,
            tags=ask["tags"],
            x=ask["x"],
            start=ask["from"],
            end=ask["to"],
            buckets=ask["buckets"],
            log_x=ask["log_x"],
            smoothing=None if smoothing is None else Smoothing(smoothing["kind"], smoothing["weight"]),
            orphans=ask["orphans"],
            rank=ask["rank"] or 0,
            **more,
        )
    except BadQuery as error:
        raise BadRequest(str(error)) from error


@endpoint(
    "GET",
    "points",
    "The raw points of one series, a page at a time.",
    query={
        "run": RUN,
        "tag": TAG,
        "offset": schema.whole(default=0),
        "limit": schema.whole(least=1, most=_MOST_POINTS, default=10_000),
        "orphans": schema.flag("also what a restart took the place of", default=False),
        "rank": schema.whole(most=1_000_000, default=0),
    },
    required=("run", "tag"),
    gives=schema.answer(
        "Points",
        {
            "run": schema.text(),
            "tag": schema.text(),
            "total": schema.whole(),
            "offset": schema.whole(),
            "steps": schema.several(schema.whole(least=-(2**63), most=2**63), most=_MOST_POINTS),
            "wall_times": schema.several(schema.spelled_number(), most=_MOST_POINTS),
            "values": schema.several(schema.spelled_number(), most=_MOST_POINTS),
            "orphaned": schema.several(schema.flag(), most=_MOST_POINTS),
        },
    ),
)
def points(board: Board, ask: Ask) -> dict[str, Any]:
    run = board.run(ask["run"])
    ask.same_since(board.state_of([run.name]))
    series = run.series(ask["tag"], rank=ask["rank"], orphans=ask["orphans"])
    page = slice(ask["offset"], ask["offset"] + ask["limit"])
    return {
        "run": run.name,
        "tag": series.tag,
        "total": len(series),
        "offset": ask["offset"],
        "steps": series.steps[page].tolist(),
        "wall_times": series.wall_times[page].tolist(),
        "values": series.values[page].tolist(),
        "orphaned": series.orphaned[page].tolist(),
    }
