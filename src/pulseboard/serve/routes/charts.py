"""Curves: windows of series, statistics over groups of runs, and raw points."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pulseboard.charts.query import AXES, MAX_BUCKETS, SMOOTHINGS, TAG_PREFIX, BadQuery, GroupQuery, Query, Smoothing
from pulseboard.serve.http import columns, schema
from pulseboard.serve.http.endpoint import ApiRequest, endpoint
from pulseboard.serve.http.errors import BadRequest, TooLarge
from pulseboard.serve.http.parameters import AXIS, ORPHANS, REGEX, RUN, RUNS, STEP, TAG
from pulseboard.serve.http.responses import COLUMNS, Response
from pulseboard.serve.live.dashboard import Dashboard
from pulseboard.serve.security.safe_regex import SafeRegex

if TYPE_CHECKING:
    from pulseboard.charts.results import GroupStatistics, Window

T = TypeVar("T")

# Enough for a page of charts; nobody can look at more.
_MAX_SERIES = 20_000
_MAX_BUCKETS_IN_TOTAL = 20_000_000
_MAX_POINTS = 100_000

_SMOOTHING = schema.record(
    {
        "kind": schema.choice(*SMOOTHINGS),
        "weight": schema.number("its meaning depends on the kind", default=0.6),
    },
    required=("kind",),
)
_WINDOW = {
    "runs": RUNS,
    "tags": schema.array(
        schema.string("a tag, or = and an expression over tags, such as =val/loss - train/loss"),
        max_items=1000,
        min_items=1,
    ),
    "x": schema.string(
        f"{', '.join(AXES)}, or {TAG_PREFIX} and the tag of a metric of the same run, such as tag:train/tokens: a "
        "point's x is then the metric's value at the point's step, interpolated between the steps at which the metric "
        "was logged; points before the first and after the last of them are left out",
        default="step",
    ),
    "from": schema.nullable(schema.number("null: from the first point", default=None)),
    "to": schema.nullable(schema.number("null: to the last point", default=None)),
    "buckets": schema.integer("number of pixel columns", minimum=1, maximum=MAX_BUCKETS, default=1000),
    "log_x": schema.boolean(default=False),
    "smoothing": schema.nullable({**_SMOOTHING, "default": None}),
    "orphans": ORPHANS,
    "neighbors": schema.boolean(
        "also return the nearest point on each side of the range, so that lines reach its edges", default=False
    ),
    "rank": schema.nullable(schema.integer("rank in a distributed training; null: 0", maximum=1_000_000, default=None)),
}
_DRAWN_COLUMNS = ("x", "y", "first", "min", "max", "last", "smooth", "orphan")

_STATISTICS = {
    # name -> the center and the lower and upper edge of the band, from a group's columns
    "mean-sd": lambda c: (c["mean"], c["mean"] - c["sd"], c["mean"] + c["sd"]),
    "mean-se": lambda c: (c["mean"], c["mean"] - c["se"], c["mean"] + c["se"]),
    "mean-95": lambda c: (c["mean"], c["low"], c["high"]),
    "median-range": lambda c: (c["median"], c["min"], c["max"]),
}


@endpoint(
    "POST",
    "window",
    "The data of charts: tags of runs in a range of x, reduced to pixel columns, as binary columns.",
    body={"title": "WindowQuery", **schema.record(_WINDOW, required=("runs", "tags"))},
    media_type=COLUMNS,
)
def window(dashboard: Dashboard, request: ApiRequest) -> Response:
    runs = dashboard.run_names(request["runs"])
    request.revalidate(dashboard.state_of(runs))
    _check_size(len(runs), request)
    revision = dashboard.revisions.current
    windows = _checked(partial(dashboard.charts.window, _query(Query, runs, request)))
    series = ((_header(one), _drawn_columns(one)) for one in windows)
    return Response(columns.encode(series, revision=revision), COLUMNS)


def _header(one: Window) -> dict[str, Any]:
    return {
        "run": one.run,
        "tag": one.tag,
        "points": one.points,
        "exact": one.exact,
        "nan": one.nan,
        "inf": one.inf,
        "smoothed": one.smoothed,
        "axis": one.axis.kind,
        "extent": one.extent,
    }


def _drawn_columns(one: Window) -> dict[str, Any]:
    drawn = {name: one.columns[name] for name in _DRAWN_COLUMNS if name in one.columns}
    # Most curves have no such values, and a column of zeros is a waste.
    counts = {"nan": one.nan, "plus_inf": one.inf, "minus_inf": one.inf}
    return drawn | {name: one.columns[name] for name, n in counts.items() if n and name in one.columns}


@endpoint(
    "POST",
    "groups",
    "Statistics over groups of runs, as binary columns: one series per tag and group.",
    body={
        "title": "GroupsQuery",
        **schema.record(
            {
                **_WINDOW,
                "by": schema.nullable(
                    {
                        **schema.record(
                            {"regex": schema.nullable(REGEX), "hparam": schema.nullable(schema.string(max_length=1000))}
                        ),
                        "description": "runs with the same match, or the same value, are a group; null: one group",
                        "default": None,
                    }
                ),
                "statistic": schema.choice(*_STATISTICS, default="mean-sd"),
            },
            required=("runs", "tags"),
        ),
    },
    media_type=COLUMNS,
)
def groups(dashboard: Dashboard, request: ApiRequest) -> Response:
    runs = dashboard.run_names(request["runs"])
    request.revalidate(dashboard.state_of(runs))
    _check_size(len(runs), request)
    revision = dashboard.revisions.current
    by = request["by"] or {}
    if by.get("regex") and by.get("hparam"):
        raise BadRequest("Both a regex and a hyperparameter were given to group by.", do="Give one of them.")
    found: list[tuple[str, GroupStatistics]] = []
    if by.get("regex"):
        members: dict[str, list[str]] = {}
        regex = SafeRegex(by["regex"])
        for name in runs:
            if (label := regex.group_label(name)) is not None:
                members.setdefault(label, []).append(name)
        for label, names in members.items():
            query = _query(GroupQuery, names, request)
            found += [(label, group) for group in _checked(partial(dashboard.charts.groups, query))]
    else:
        query = _query(GroupQuery, runs, request, by_hparam=by.get("hparam") or None)
        found = [(group.group, group) for group in _checked(partial(dashboard.charts.groups, query))]
    series = []
    for label, group in found:
        center, low, high = _STATISTICS[request["statistic"]](group.columns)
        header = {"group": label, "runs": group.runs, "tag": group.tag, "points": len(center), "exact": True}
        header["extent"] = group.extent
        band = {"x": group.columns["x"], "y": center, "low": low, "high": high, "count": group.columns["count"]}
        if group.smoothed is not None:
            smoothed = _STATISTICS[request["statistic"]](group.smoothed)
            band |= zip(("smooth", "smooth_low", "smooth_high"), smoothed, strict=True)
        series.append((header, band))
    return Response(columns.encode(series, revision=revision), COLUMNS)


def _check_size(runs: int, request: ApiRequest) -> None:
    tags = len(request["tags"])
    if runs * tags > _MAX_SERIES:
        raise TooLarge(
            f"The response would have {runs} runs x {tags} tags.", do=f"Request at most {_MAX_SERIES} series."
        )
    if runs * tags * request["buckets"] > _MAX_BUCKETS_IN_TOTAL:
        raise TooLarge("The response would be too large.", do="Request fewer runs, tags or buckets.")


def _checked(ask: Callable[[], list[T]]) -> list[T]:
    """The result of a query. An expression that is wrong is the client's error."""
    try:
        return ask()
    except BadQuery as error:
        raise BadRequest(str(error)) from error


def _query(kind: Any, runs: list[str], request: ApiRequest, **more: Any) -> Any:
    smoothing = request["smoothing"]
    try:
        return kind(
            runs=runs,
            tags=request["tags"],
            x=request["x"],
            start=request["from"],
            end=request["to"],
            buckets=request["buckets"],
            log_x=request["log_x"],
            smoothing=None if smoothing is None else Smoothing(smoothing["kind"], smoothing["weight"]),
            orphans=request["orphans"],
            neighbors=request["neighbors"],
            rank=request["rank"] or 0,
            **more,
        )
    except BadQuery as error:
        raise BadRequest(str(error)) from error


@endpoint(
    "GET",
    "points",
    "The raw points of one series, in pages.",
    query={
        "run": RUN,
        "tag": TAG,
        "offset": schema.integer(default=0),
        "limit": schema.integer(minimum=1, maximum=_MAX_POINTS, default=10_000),
        "orphans": ORPHANS,
        "rank": schema.integer(maximum=1_000_000, default=0),
    },
    required=("run", "tag"),
    returns=schema.named_record(
        "Points",
        {
            "run": schema.string(),
            "tag": schema.string(),
            "axis": AXIS,
            "total": schema.integer(),
            "offset": schema.integer(),
            "steps": schema.array(STEP, max_items=_MAX_POINTS),
            "wall_times": schema.array(schema.number_or_nan(), max_items=_MAX_POINTS),
            "values": schema.array(schema.number_or_nan(), max_items=_MAX_POINTS),
            "orphaned": schema.array(schema.boolean(), max_items=_MAX_POINTS),
        },
    ),
)
def points(dashboard: Dashboard, request: ApiRequest) -> dict[str, Any]:
    run = dashboard.run(request["run"])
    request.revalidate(dashboard.state_of([run.name]))
    series = run.series(request["tag"], rank=request["rank"], orphans=request["orphans"])
    page = slice(request["offset"], request["offset"] + request["limit"])
    return {
        "run": run.name,
        "tag": series.tag,
        "axis": run.ranks[request["rank"]].axis_of(series.tag).as_dict(),
        "total": len(series),
        "offset": request["offset"],
        "steps": series.steps[page].tolist(),
        "wall_times": series.wall_times[page].tolist(),
        "values": series.values[page].tolist(),
        "orphaned": series.orphaned[page].tolist(),
    }
