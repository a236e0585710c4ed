"""Windows: what a chart draws, compared with plain code over the run's series."""

import math

import numpy as np
import pytest
from builders import event_file, scalars, session_start, version
from hypothesis import given
from hypothesis import strategies as st
from log_directories import append, write_run
from series_files import write_series

import pulseboard as pb
from pulseboard.charts.line import Line
from pulseboard.charts.local import LocalCharts
from pulseboard.charts.query import BadQuery, Query, Smoothing
from pulseboard.core.errors import RunNotFound
from pulseboard.read.event_files.run import EventFileRun


def charts_of(directory):
    return LocalCharts(pb.read(directory))


def one(charts, **options):
    """The only window of the only tag of run `r`."""
    [window] = charts.window(Query(runs=["r"], tags=["loss"], **options))
    return window


def written(tmp_path, *points, wall_times=None):
    steps, values = zip(*points, strict=True) if points else ((), ())
    write_series(tmp_path / "r" / "events.out.tfevents.1", steps, values, wall_times=wall_times)
    return charts_of(tmp_path)


# ---- exact windows


def test_few_points_are_returned_unchanged(tmp_path):
    window = one(written(tmp_path, (1, 2.0), (5, math.nan), (7, math.inf)))
    assert (window.exact, window.points, window.nan, window.inf) == (True, 3, 1, 1)
    assert window.columns["x"].tolist() == [1, 5, 7]
    assert window.columns["y"].tolist() == pytest.approx([2, math.nan, math.inf], nan_ok=True)
    assert set(window.columns) == {"x", "y"}


def test_buckets_count_positive_and_negative_infinities(tmp_path):
    odd = {3: math.inf, 70: -math.inf, 71: -math.inf, 72: math.nan}
    window = one(written(tmp_path, *((step, odd.get(step, 1.0)) for step in range(100))), buckets=4)
    assert (window.exact, window.nan, window.inf) == (False, 1, 3)
    assert window.columns["plus_inf"].tolist() == [1, 0, 0, 0]
    assert window.columns["minus_inf"].tolist() == [0, 0, 2, 0]


def test_steps_that_go_back_or_repeat_are_sorted_by_x_then_by_logging_order(tmp_path):
    window = one(written(tmp_path, (5, 1.0), (3, 2.0), (5, 3.0), (3, 4.0), (9, 5.0)))
    assert window.columns["x"].tolist() == [3, 3, 5, 5, 9]
    assert window.columns["y"].tolist() == [2, 4, 1, 3, 5]


def test_a_range_includes_both_ends(tmp_path):
    window = one(written(tmp_path, *((i, float(i)) for i in range(10))), start=3, end=6)
    assert window.columns["x"].tolist() == [3, 4, 5, 6]


def test_a_range_without_points_is_empty(tmp_path):
    charts = written(tmp_path, (1, 1.0), (2, 2.0))
    for options in ({"start": 5.0}, {"end": 0.0}, {"start": 1.2, "end": 1.4}, {"start": 5.0, "log_x": True}):
        window = one(charts, smoothing=Smoothing("debiased", 0.5), **options)
        assert (window.points, {name: len(column) for name, column in window.columns.items()}) == (
            0,
            {"x": 0, "y": 0, "smooth": 0},
        )


def test_one_point_is_a_window(tmp_path):
    for options in ({}, {"log_x": True}, {"x": "wall"}, {"x": "relative"}, {"start": 3.0, "end": 3.0}):
        assert one(written(tmp_path, (3, 1.5)), **options).points == 1


def test_steps_to_two_to_the_53_are_exact(tmp_path):
    window = one(written(tmp_path, (2**53 - 1, 1.0), (2**53, 2.0)))
    assert window.columns["x"].tolist() == [2**53 - 1, 2**53]


def test_larger_steps_keep_their_order(tmp_path):
    steps = [2**63 - 2**12 * i for i in range(2000, 0, -1)]
    window = one(written(tmp_path, *((step, float(i)) for i, step in enumerate(steps))), buckets=50)
    assert not window.exact
    assert (np.diff(window.columns["x"]) > 0).all()
    assert int(window.columns["count"].sum()) == 2000


def test_relative_time_starts_at_the_first_point(tmp_path):
    charts = written(tmp_path, (0, 1.0), (1, 2.0), (2, 3.0), wall_times=[1e9, 1e9 + 2, 1e9 + 2.5])
    assert one(charts, x="relative").columns["x"].tolist() == [0, 2, 2.5]
    assert one(charts, x="wall").columns["x"].tolist() == [1e9, 1e9 + 2, 1e9 + 2.5]
    assert one(charts, x="relative", start=1, end=2).columns["x"].tolist() == [2]


def test_points_without_a_wall_time_are_left_out_of_time_axes_only(tmp_path):
    charts = written(tmp_path, (0, 1.0), (1, 2.0), (2, 3.0), wall_times=[1e9, math.nan, math.inf])
    assert one(charts, x="wall").columns["y"].tolist() == [1]
    assert one(charts).columns["y"].tolist() == [1, 2, 3]


def test_a_logarithmic_axis_leaves_out_x_that_is_not_positive(tmp_path):
    charts = written(tmp_path, *((step, float(step)) for step in (-5, 0, 1, 10, 100)))
    assert one(charts, log_x=True).columns["x"].tolist() == [1, 10, 100]
    assert one(charts, log_x=True, start=-10, end=50).columns["x"].tolist() == [1, 10]


# ---- buckets


def test_a_spike_of_one_step_is_visible_at_any_width(tmp_path):
    values = np.zeros(50_000)
    values[31_234] = 9.0
    charts = written(tmp_path, *enumerate(values))
    for buckets in (1, 10, 333, 1000):
        columns = one(charts, buckets=buckets).columns
        assert columns["max"].max() == 9
        assert columns["x"][columns["max"].argmax()] <= 31_234
        assert (columns["max"] > 0).sum() == 1


def test_zooming_in_ends_at_the_points(tmp_path):
    charts = written(tmp_path, *((i, float(i % 7)) for i in range(20_000)))
    low, high = 0.0, 19_999.0
    while not (window := one(charts, start=low, end=high, buckets=100)).exact:
        low, high = low + (high - low) * 0.3, high - (high - low) * 0.3
    assert window.columns["y"].tolist() == [x % 7 for x in window.columns["x"].tolist()]


def test_all_runs_of_a_tag_share_their_buckets(tmp_path):
    write_series(tmp_path / "long" / "events.out.tfevents.1", range(10_000), np.zeros(10_000))
    write_series(tmp_path / "short" / "events.out.tfevents.1", range(2_000), np.zeros(2_000))
    windows = charts_of(tmp_path).window(Query(runs=["long", "short"], tags=["loss"], buckets=100))
    assert [window.run for window in windows] == ["long", "short"]
    assert [len(window.columns["x"]) for window in windows] == [100, 20]
    assert windows[1].columns["x"][:20].tolist() == windows[0].columns["x"][:20].tolist()


def test_runs_without_the_tag_are_left_out_and_unknown_runs_are_an_error(tmp_path):
    write_run(tmp_path / "a", (1, 1.0), tag="loss")
    write_run(tmp_path / "b", (1, 1.0), tag="other")
    charts = charts_of(tmp_path)
    query = Query(runs=["a", "b"], tags=["loss", "other", "unknown"])
    assert [(window.run, window.tag) for window in charts.window(query)] == [("a", "loss"), ("b", "other")]
    with pytest.raises(RunNotFound):
        charts.window(Query(runs=["c"], tags=["loss"]))


# ---- orphans


def restarted(tmp_path, count):
    first = scalars("loss", *((i, 1.0) for i in range(count)))
    second = scalars("loss", *((i, 2.0) for i in range(count // 2, count)))
    path = tmp_path / "r" / "events.out.tfevents.1"
    path.parent.mkdir(parents=True)
    path.write_bytes(event_file(version(), *first, session_start(count // 2), *second))
    return charts_of(tmp_path)


def test_orphaned_points_are_returned_only_on_request_and_separately(tmp_path):
    charts = restarted(tmp_path, 10)
    assert one(charts).columns["y"].tolist() == [1] * 5 + [2] * 5
    columns = one(charts, orphans=True).columns
    assert columns["orphan"].tolist() == [0] * 10 + [1] * 5
    assert columns["y"].tolist() == [1] * 5 + [2] * 5 + [1] * 5
    assert columns["x"].tolist() == [*range(10), 5, 6, 7, 8, 9]


def test_buckets_never_mix_orphaned_points_with_others(tmp_path):
    window = one(restarted(tmp_path, 1000), orphans=True, buckets=10, smoothing=Smoothing("gaussian", 3))
    orphan = window.columns["orphan"] == 1
    assert window.points == 1500
    assert set(window.columns["max"][orphan]) == {1.0}
    assert window.columns["count"][orphan].sum() == 500
    assert window.columns["smooth"][orphan].tolist() == pytest.approx([1.0] * int(orphan.sum()))


# ---- smoothing


def tensorboard_smoothing(values, weight):
    """TensorBoard's classicSmoothing, with its exception for constant series."""
    if all(value == values[0] for value in values):
        return list(values)
    last, count, out = 0.0, 0, []
    for value in values:
        if math.isfinite(value):
            last = last * weight + (1 - weight) * value
            count += 1
            out.append(last / (1 - weight**count))
        else:
            out.append(value)
    return out


def test_debiased_smoothing_matches_tensorboard_while_a_run_grows(tmp_path):
    charts = written(tmp_path, *((i, 0.1) for i in range(5)))
    path = tmp_path / "r" / "events.out.tfevents.1"
    values = [float(np.float32(0.1))] * 5
    for more in ([0.1] * 3, [0.7], [math.nan, 0.3], list(np.sin(np.arange(50)))):
        append(path, *((len(values) + i, float(value)) for i, value in enumerate(more)))
        values += np.float32(more).astype(float).tolist()
        charts.poll()
        smooth = one(charts, smoothing=Smoothing("debiased", 0.9)).columns["smooth"].tolist()
        assert smooth == pytest.approx(tensorboard_smoothing(values, 0.9), rel=1e-12, nan_ok=True)


def test_smoothing_uses_logging_order_at_full_resolution(tmp_path):
    rng = np.random.default_rng(0)
    steps, values = rng.permutation(5000), rng.normal(size=5000).astype(np.float32).astype(float)
    charts = written(tmp_path, *zip(steps.tolist(), values.tolist(), strict=True))
    by_step = dict(zip(steps.tolist(), tensorboard_smoothing(values.tolist(), 0.6), strict=True))
    columns = one(charts, buckets=100, smoothing=Smoothing("debiased", 0.6)).columns
    ends = [int(x) - 1 for x in columns["x"][1:]] + [
        4999
    ]  # every step exists, so a bucket ends just before the next one begins
    assert columns["smooth"].tolist() == pytest.approx([by_step[step] for step in ends])


def test_a_gap_in_time_makes_time_weighted_smoothing_forget(tmp_path):
    steps = [*range(100), *range(10_000, 10_100)]
    charts = written(tmp_path, *((step, float(step >= 10_000)) for step in steps))
    smooth = one(charts, smoothing=Smoothing("time-weighted", 0.9)).columns["smooth"]
    assert smooth[100] == pytest.approx(1.0, abs=0.01)
    other = one(charts, smoothing=Smoothing("debiased", 0.9)).columns["smooth"]
    assert other[100] < 0.2


@pytest.mark.parametrize(
    "wrong",
    [
        {"x": "epoch"},
        {"buckets": 0},
        {"buckets": 10**9},
        {"start": math.nan},
        {"end": math.inf},
        {"start": 2.0, "end": 1.0},
    ],
)
def test_a_query_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(BadQuery):
        Query(runs=["r"], tags=["loss"], **wrong)


@pytest.mark.parametrize(
    ("kind", "weight"),
    [("debiased", 1.0), ("debiased", -0.1), ("gaussian", math.nan), ("running-mean", 1e9), ("median", 1.0)],
)
def test_a_smoothing_that_makes_no_sense_is_refused(kind, weight):
    with pytest.raises(BadQuery):
        Smoothing(kind, weight)


# ---- growing


events = st.one_of(
    st.tuples(st.just("points"), st.lists(st.tuples(st.integers(0, 30), st.floats(-9, 9, width=32)), max_size=5)),
    st.tuples(st.just("restart"), st.integers(0, 30)),
    st.tuples(st.just("other tag"), st.integers(0, 30)),
    st.tuples(st.just("new file"), st.booleans()),
    st.tuples(st.just("cut"), st.just(0)),
)


@given(st.lists(events, max_size=12), st.booleans())
def test_an_updated_curve_equals_one_loaded_from_scratch(tmp_path_factory, happened, versioned):
    top = tmp_path_factory.mktemp("runs")
    (top / "r").mkdir()
    number = 0

    def file():
        return top / "r" / f"events.out.tfevents.{number}"

    file().write_bytes(event_file(*([version()] if versioned else []), *scalars("loss", (0, 0.5))))
    charts = charts_of(top)
    for kind, argument in happened:
        if kind == "points":
            append(file(), *argument)
        elif kind == "restart":
            with file().open("ab") as stream:
                stream.write(event_file(session_start(argument)))
        elif kind == "other tag":
            append(file(), (argument, 1.0), tag="other")
        elif kind == "new file":
            number += 1
            file().write_bytes(event_file(*([version()] if argument else [])))
        else:
            file().write_bytes(event_file(version()))
        charts.refresh()
        windows = charts.window(Query(runs=["r"], tags=["loss"], orphans=True))
        fresh = charts_of(top)
        again = fresh.window(Query(runs=["r"], tags=["loss"], orphans=True))
        assert len(windows) == len(again)
        for a, b in zip(windows, again, strict=True):
            assert {k: v.tolist() for k, v in a.columns.items()} == {k: v.tolist() for k, v in b.columns.items()}
        if again:
            series = fresh.runs["r"].series("loss")
            order = np.argsort(series.steps, kind="stable")
            [live] = charts.window(Query(runs=["r"], tags=["loss"]))
            assert live.columns["y"].tolist() == series.values[order].tolist()


def test_new_points_do_not_reload_the_old_ones(tmp_path, monkeypatch):
    charts = written(tmp_path, *((i, 1.0) for i in range(5000)))
    one(charts)
    monkeypatch.setattr(EventFileRun, "series", None)  # a full reload would fail
    append(tmp_path / "r" / "events.out.tfevents.1", (5000, 2.0))
    charts.poll()
    assert one(charts, start=5000).columns["y"].tolist() == [2]


def test_a_chart_shares_its_points_with_the_reader(tmp_path):
    charts = written(tmp_path, *((i, 1.0) for i in range(5000)))
    one(charts)
    series = charts.runs["r"].series("loss")
    drawn = charts._kept._curves["r", 0, "loss", ""].live.sorted_by("step")
    assert np.shares_memory(drawn.x, series.steps)
    assert np.shares_memory(drawn.values, series.values)


def test_whole_steps_become_floats_when_fractions_follow():
    line = Line()
    for steps in ([1, 2], [3, 4], [4.5, 5.5]):
        line.add(np.array(steps), np.zeros(2), np.zeros(2))
    assert line.sorted_by("step").x.tolist() == [1, 2, 3, 4, 4.5, 5.5]


def test_the_least_recently_used_curves_are_dropped_to_free_memory(tmp_path):
    for i in range(20):
        write_series(tmp_path / f"r{i}" / "events.out.tfevents.1", range(2000), range(2000))
    charts = LocalCharts(pb.read(tmp_path), max_curves_bytes=200_000)
    for name in list(charts.runs):
        assert charts.window(Query(runs=[name], tags=["loss"]))[0].points == 2000
    kept = charts._kept
    assert 0 < kept._held_bytes <= 200_000
    assert len(kept._curves) < 5
    assert kept._held_bytes == sum(kept._sizes.values())


# ---- neighbors


def test_neighbors_are_the_nearest_points_outside_the_range_and_count_in_no_total(tmp_path):
    charts = written(tmp_path, *((step, float(step)) for step in range(0, 100, 10)))
    window = one(charts, start=33, end=38, neighbors=True)
    assert window.columns["x"].tolist() == [30, 40]
    assert window.columns["y"].tolist() == [30.0, 40.0]
    assert (window.points, window.extent) == (0, (0.0, 90.0))
    assert one(charts, start=33, end=38).columns["x"].tolist() == []
    everything = one(charts, neighbors=True)
    assert everything.columns["x"].tolist() == list(range(0, 100, 10))


def test_neighbors_of_a_bucketed_window_are_rows_of_one_point(tmp_path):
    charts = written(tmp_path, *((step, float(step)) for step in range(1000)))
    smoothing = Smoothing("debiased", 0.5)
    inside = one(charts, start=100, end=899, buckets=50, smoothing=smoothing)
    window = one(charts, start=100, end=899, buckets=50, smoothing=smoothing, neighbors=True)
    for name, values in inside.columns.items():
        assert window.columns[name][1:-1].tolist() == values.tolist(), name
    for name in ("x", "first", "min", "max", "last"):
        assert window.columns[name][[0, -1]].tolist() == [99, 900], name
    full = one(charts, smoothing=smoothing)
    assert window.columns["smooth"][[0, -1]].tolist() == full.columns["smooth"][[99, 900]].tolist()
    assert (window.points, window.exact) == (800, False)


def test_a_neighbor_that_a_logarithmic_axis_cannot_show_is_left_out(tmp_path):
    charts = written(tmp_path, (0, 1.0), (10, 2.0), (20, 3.0))
    window = one(charts, start=5, end=12, log_x=True, neighbors=True)
    assert window.columns["x"].tolist() == [10, 20]


# ---- steps on other axes


def test_steps_are_found_on_time_axes_and_outside_steps_at_the_ends(tmp_path):
    charts = written(tmp_path, (0, 1.0), (10, 2.0), (20, 3.0), wall_times=[1000.0, 1010.0, 1040.0])
    assert charts.x_of_steps("r", "loss", [0, 15, 99], x="wall") == [1000.0, 1025.0, 1040.0]
    assert charts.x_of_steps("r", "loss", [-5, 10], x="relative") == [0.0, 10.0]
    assert charts.x_of_steps("r", "loss", [7], x="step") == [7]
    assert charts.x_of_steps("r", "loss", [7], x="tag:tokens") == [None]
    assert charts.x_of_steps("r", "nothing", [7], x="wall") == [None]
