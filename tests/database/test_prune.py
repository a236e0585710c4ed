import time

import numpy as np
import pytest
from database.comparing import push, stored
from log_directories import append, write_run

from pulseboard.charts.local import LocalCharts
from pulseboard.charts.query import Query, Smoothing
from pulseboard.cli import main
from pulseboard.database.check import check
from pulseboard.database.prune import prune
from pulseboard.database.stored.charts import StoredCharts
from pulseboard.database.stored.entries import StoredEntries
from pulseboard.read.runs import read

DAY = 86400.0
POINTS = 1000


@pytest.fixture
def logs(tmp_path, connection):
    """A run in the database, with one value that is not finite."""
    values = np.random.default_rng(1).normal(size=POINTS)
    values[70] = np.inf
    write_run(tmp_path / "run", *enumerate(values.tolist()))
    push(tmp_path, connection)
    return tmp_path


def in_days(days):
    return {"now": time.time() + days * DAY, "notice_secs": 0.0}


def points(connection):
    return connection.rows("SELECT count() FROM {db}.points")[0][0]


def test_only_points_that_are_in_a_rollup_are_removed_and_the_check_still_passes(logs, connection):
    assert prune(connection, keep_secs=90 * DAY, **in_days(89)).points == 0
    assert prune(connection, keep_secs=90 * DAY, dry_run=True, **in_days(91)).points == 960
    assert points(connection) == POINTS
    found = prune(connection, keep_secs=90 * DAY, **in_days(91))
    assert (found.runs, found.points, found.pinned) == (1, 960, 0)
    assert points(connection) == POINTS - 960
    assert check(connection).problems == ()
    assert prune(connection, keep_secs=90 * DAY, **in_days(91)).runs == 0


def test_what_else_is_missing_after_retention_is_found_by_the_check(logs, connection):
    prune(connection, keep_secs=90 * DAY, **in_days(91))
    connection.run("DELETE FROM {db}.points WHERE seq = 990")
    assert [problem.kind for problem in check(connection).problems] == ["points"]


def test_charts_of_a_pruned_run_keep_minimum_maximum_and_counts(logs, connection, url):
    prune(connection, keep_secs=90 * DAY, **in_days(91))
    for x in ("step", "relative", "wall"):
        query = Query(runs=["run"], tags=["loss"], buckets=5, x=x)
        (expected,), (found,) = LocalCharts(read(logs)).window(query), StoredCharts(stored(url)).window(query)
        assert found.points == expected.points == POINTS
        assert found.inf == expected.inf == 1
        assert found.extent == expected.extent
        assert found.columns["count"].sum() == POINTS
        for name, summary in (("min", np.nanmin), ("max", np.nanmax)):
            assert summary(found.columns[name]) == summary(expected.columns[name])
        assert found.columns["first"][0] == expected.columns["first"][0]
        assert found.columns["last"][-1] == expected.columns["last"][-1]


def test_every_point_that_is_left_and_the_ends_of_blocks_can_be_read(logs, connection, url):
    prune(connection, keep_secs=90 * DAY, **in_days(91))
    series, whole = stored(url)["run"].series("loss"), read(logs)["run"].series("loss")
    assert len(series) == 960 // 64 * 2 + 40
    np.testing.assert_array_equal(series.values[-40:], whole.values[-40:])
    np.testing.assert_array_equal(series.steps[:4], [0, 63, 64, 127])
    assert series.values[1] == whole.values[63]
    smooth = Query(runs=["run"], tags=["loss"], buckets=9, smoothing=Smoothing("debiased", 0.9))
    assert StoredCharts(stored(url)).window(smooth)[0].points > 0
    zoomed = Query(runs=["run"], tags=["loss"], buckets=500, start=0, end=100, neighbors=True)
    assert StoredCharts(stored(url)).window(zoomed)[0].columns["x"][0] == 0


def test_pinned_runs_are_kept(logs, connection, url):
    entries = StoredEntries(connection, "marks")
    entries.change(lambda marks: marks.update({"#".join(filter(None, stored(url)["run"].identity)): {"pinned": True}}))
    found = prune(connection, keep_secs=90 * DAY, **in_days(91))
    assert (found.runs, found.pinned) == (0, 1)
    assert points(connection) == POINTS


def test_a_pruned_run_that_goes_on_is_pushed_from_where_it_was(logs, connection, url):
    prune(connection, keep_secs=90 * DAY, **in_days(91))
    append(logs / "run" / "events.out.tfevents.1", *((step, 1.0) for step in range(POINTS, POINTS + 100)))
    assert push(logs, connection).points == 100
    assert check(connection).problems == ()
    assert stored(url)["run"].series("loss").values[-100:].tolist() == [1.0] * 100


def test_a_server_that_is_running_goes_on_with_rollups(logs, connection, url):
    runs = stored(url)
    before = runs["run"].series("loss")
    prune(connection, keep_secs=90 * DAY, **in_days(91))
    assert runs.poll().grown == ("run",)
    assert len(runs["run"].series("loss")) < len(before)


def test_pruning_from_the_command_line(logs, url, capsys):
    assert main(["db", "prune", url, "--keep", "1h"]) == 0
    assert capsys.readouterr().out == "Removed 0 points of 0 runs.\n"
    assert main(["db", "prune", url, "--keep", "0h", "--dry-run"]) == 0
    assert capsys.readouterr().out == "Would remove 960 points of 1 run.\n"
    assert main(["db", "prune", url, "--keep", "0h", "--brief"]) == 0
    assert capsys.readouterr().out == "1\t960\t0\n"
    assert main(["db", "prune", url]) == 2
    assert "--keep 90d" in capsys.readouterr().err
