"""Runs of a database compared with the same runs read from their log directory."""

import numpy as np

from pulseboard.charts.local import LocalCharts
from pulseboard.charts.query import Query
from pulseboard.database.push.pusher import Pusher
from pulseboard.database.stored.charts import StoredCharts
from pulseboard.database.stored.runs import StoredRuns
from pulseboard.read.runs import read
from pulseboard.tbformat import kinds

COLUMNS = ("steps", "wall_times", "values", "orphaned")
QUERIES = (
    {},
    {"orphans": True, "buckets": 7},
    {"x": "relative", "buckets": 11, "neighbors": True},
    {"x": "wall", "buckets": 3},
    {"start": 3.0, "end": 40.0, "buckets": 5},
)


def push(directory, connection, **options):
    """Push everything in a directory, as a new process would."""
    pusher = Pusher(read(directory), connection, host="host", **options)
    pusher.push()
    return pusher


def stored(url):
    """The runs of a database."""
    runs = StoredRuns.open(url)
    runs.refresh()
    return runs


def same_series(local, in_database):
    """Assert that both have the same runs with the same series. Returns how many points there are."""
    assert sorted(local) == sorted(in_database)
    in_database.load_rows(in_database.values())
    points = 0
    for name in local:
        for rank, run in local[name].ranks.items():
            other = in_database[name].ranks[rank]
            assert run.tags() == other.tags()
            for tag in run.tags(kinds.SCALAR):
                expected, found = run.series(tag, orphans=True), other.series(tag, orphans=True)
                for column in COLUMNS:
                    np.testing.assert_array_equal(getattr(found, column), getattr(expected, column))
                assert other.axis_of(tag) == run.axis_of(tag)
                points += len(found)
    return points


def same_windows(local, in_database, queries=QUERIES, *, max_tags=50, max_runs=20):
    """Assert that charts of both are the same in every bucket. Returns how many were compared."""
    here, there = LocalCharts(local), StoredCharts(in_database)
    compared = 0
    for summary in here.tag_summaries(kind=kinds.SCALAR)[:max_tags]:
        for query in queries:
            asked = Query(runs=summary.runs[:max_runs], tags=[summary.tag], **query)
            for expected, found in zip(here.window(asked), there.window(asked), strict=True):
                same_window(expected, found)
                compared += 1
    return compared


def same_window(expected, found):
    """Assert that two windows are the same."""
    for name in ("run", "tag", "points", "exact", "nan", "inf", "axis", "extent"):
        assert getattr(found, name) == getattr(expected, name), (name, expected, found)
    assert list(found.columns) == list(expected.columns)
    for name, column in expected.columns.items():
        np.testing.assert_array_equal(found.columns[name], column)
