import gc
import threading

import numpy as np
import pytest
from builders import event_file, scalars, session_start, version
from corpus import need_corpus
from database.comparing import push, same_series, same_window, same_windows, stored
from log_directories import append, write_run

from pulseboard.charts.local import LocalCharts
from pulseboard.charts.query import GroupQuery, Query, Smoothing
from pulseboard.database import schema
from pulseboard.database.connection import Connection
from pulseboard.database.stored.charts import StoredCharts
from pulseboard.database.url import parse_url
from pulseboard.diagnose.cases import trainings
from pulseboard.diagnose.diagnosis import report_on_training
from pulseboard.read.runs import read


@pytest.fixture
def charts(tmp_path, url, connection):
    """The same three runs as charts of their log directory, and of the database."""
    rng = np.random.default_rng(0)
    for name in ("a", "b", "c/d"):
        write_run(tmp_path / name, *((step, float(value)) for step, value in enumerate(rng.normal(size=500))))
    push(tmp_path, connection)
    return LocalCharts(read(tmp_path)), StoredCharts(stored(url))


def test_charts_groups_and_tables_are_those_of_the_log_directory(charts):
    local, in_database = charts
    names = list(local.runs)
    smooth = Query(runs=names, tags=["loss"], smoothing=Smoothing("debiased", 0.9), buckets=20)
    for expected, found in zip(local.window(smooth), in_database.window(smooth), strict=True):
        same_window(expected, found)
    grouped = GroupQuery(runs=names, tags=["loss"], buckets=10)
    (expected,), (found,) = local.groups(grouped), in_database.groups(grouped)
    for name, column in expected.columns.items():
        np.testing.assert_array_equal(found.columns[name], column)
    assert in_database.table(names, ["loss"]) == local.table(names, ["loss"])
    computed = Query(runs=["a"], tags=["=loss * 2"], buckets=9)
    for expected, found in zip(local.window(computed), in_database.window(computed), strict=True):
        same_window(expected, found)
    assert in_database.tag_summaries() == local.tag_summaries()


def test_what_is_pushed_appears_while_following(tmp_path, url, connection):
    path = write_run(tmp_path / "a", (0, 1.0))
    push(tmp_path, connection)
    runs, stop = stored(url), threading.Event()
    assert list(runs) == ["a"]
    append(path, (1, 2.0))
    write_run(tmp_path / "b", (0, 1.0))
    push(tmp_path, connection)
    seen = set()
    for changes in runs.follow(stop=stop):
        seen |= {*changes.added, *changes.grown}
        if seen == {"a", "b"}:
            stop.set()
    assert runs["a"].series("loss").values.tolist() == [1.0, 2.0]


def test_runs_of_the_same_name_from_two_hosts_get_two_names(tmp_path, url, connection):
    from pulseboard.database.push.pusher import Pusher

    for i, host in enumerate(("one", "two")):
        write_run(tmp_path / host / "run", (0, float(i)), wall_time=100.0 * i)
        Pusher(read(tmp_path / host), connection, host=host).push()
    assert sorted(stored(url)) == ["run", "run (two)"]


def test_real_logs_have_the_same_series_charts_and_findings(url, connection):
    corpus = need_corpus() / "AllanHenri+PIBIC_PETOI"
    push(corpus, connection)
    local, in_database = read(corpus), stored(url)
    assert same_series(local, in_database) > 1000
    assert same_windows(local, in_database, max_tags=10) > 40
    reports = [
        {one.name: report_on_training(one).to_dict() for one in trainings(runs)} for runs in (local, in_database)
    ]
    for name in reports[0]:
        here, there = (report[name] for report in reports)
        assert [finding["slug"] for finding in here["findings"]] == [finding["slug"] for finding in there["findings"]]


@pytest.mark.early
def test_every_directory_of_the_corpus_has_the_same_series_and_charts(clickhouse):
    compared = points = 0
    for i, directory in enumerate(sorted(need_corpus().iterdir())):
        local = read(directory) if directory.is_dir() else {}
        if not local or sum(run.points for run in local.values()) > 400_000:
            continue
        url = clickhouse.url(f"corpus_{i}")
        connection = Connection(parse_url(url))
        schema.migrate(connection)
        push(directory, connection)
        points += same_series(local, stored(url))
        compared += same_windows(local, stored(url), max_tags=4, max_runs=6)
    assert points > 100_000
    assert compared > 1000


def test_points_leave_memory_when_nobody_holds_them_and_are_one_object_while_someone_does(charts):
    run = charts[1].runs["a"]
    series = run.series("loss")
    assert run.series("loss") is series
    assert run.holds("loss")
    del series
    gc.collect()
    assert not run.holds("loss")


def test_answers_of_many_blocks_become_columns(connection):
    sql = """SELECT number % 2 = 0, toUInt32(number), number, toInt64(number) - 5, if(number = 7, nan, number / 3)
    FROM numbers({n:UInt64}) ORDER BY number"""
    for n in (0, 1, 200_000):
        numbers = np.arange(n)
        found = connection.columns(sql, "<u1", "<u4", "<u8", "<i8", "<f8", n=n)
        assert all(column.flags.aligned for column in found)
        for column, expected in zip(
            found,
            (numbers % 2 == 0, numbers, numbers, numbers - 5, np.where(numbers == 7, np.nan, numbers / 3)),
            strict=True,
        ):
            np.testing.assert_array_equal(column, expected)


@pytest.fixture(scope="module")
def long_runs(tmp_path_factory):
    """Runs with a few thousand points: resumed twice, with NaN, infinities, pauses and steps that repeat."""
    directory, rng = tmp_path_factory.mktemp("long"), np.random.default_rng(5)
    for name, sessions in (("plain", [(0, 9000)]), ("resumed", [(0, 5000), (3000, 3500), (3333, 9000)])):
        events = [version()]
        for start, end in sessions:
            events += [session_start(start)] * bool(start)
            values = rng.normal(size=end - start)
            values[rng.random(len(values)) < 0.02] = np.nan
            values[rng.random(len(values)) < 0.01] = np.inf
            values[200:400] = -np.inf
            events += scalars("loss", *zip((np.arange(start, end) // 3 * 5).tolist(), values.tolist(), strict=True))
        for i, event in enumerate(events):
            event.wall_time = 1000.0 + i * 0.25 + 500 * (i > 4000)
        write_run(directory / name).write_bytes(event_file(*events))
    write_run(directory / "short", (100, 1.0), (20_000, 2.0))
    return directory


def test_a_window_of_a_long_series_is_made_once_until_the_series_grows(tmp_path, url, connection, monkeypatch):
    from pulseboard.database.stored import charts as stored_charts

    monkeypatch.setattr(stored_charts, "LONG_POINTS", 1000)
    path = write_run(tmp_path / "run", *((step, float(step % 7)) for step in range(3000)))
    push(tmp_path, connection)
    charts = StoredCharts(stored(url))
    query = Query(runs=["run"], tags=["loss"], buckets=50)
    (first,) = charts.window(query)
    with monkeypatch.context() as patch:
        patch.setattr(charts.runs.connection, "columns", None)  # no query
        assert charts.window(query) == [first]
    append(path, *((step, 9.0) for step in range(3000, 3100)))
    push(tmp_path, connection)
    charts.runs.poll()
    for asked in (query, Query(runs=["run"], tags=["loss"], buckets=51)):
        (expected,), (found,) = LocalCharts(read(tmp_path)).window(asked), charts.window(asked)
        same_window(expected, found)


@pytest.mark.parametrize("x", ["step", "relative", "wall"])
def test_long_series_drawn_from_rollups_have_the_same_windows(long_runs, url, connection, monkeypatch, x):
    from pulseboard.database.stored import charts as stored_charts

    monkeypatch.setattr(stored_charts, "LONG_POINTS", 1000)
    push(long_runs, connection, batch_rows=1777)
    local, in_database = LocalCharts(read(long_runs)), StoredCharts(stored(url))
    names = ["plain", "short", "resumed"]
    (whole, *_) = local.window(Query(runs=["plain"], tags=["loss"], x=x, buckets=1))
    low, high = whole.extent
    ranges = [(None, None), (low + (high - low) * 0.31, low + (high - low) * 0.37), (None, low), (high + 1, high + 9)]
    ranges += [(low + (high - low) * 0.5, low + (high - low) * 0.501)]
    shapes = [(100, {}), (7, {"neighbors": True}), (2000, {"orphans": True}), (1, {"neighbors": True})]
    for (start, end), (buckets, others) in zip(ranges, [*shapes, shapes[1]], strict=True):
        query = Query(runs=names, tags=["loss"], x=x, start=start, end=end, buckets=buckets, **others)
        for expected, found in zip(local.window(query), in_database.window(query), strict=True):
            same_window(expected, found)
    assert connection.rows("SELECT count() > 0 FROM {db}.rollup WHERE shift = 12") == [(1,)]
