"""Groups: statistics over runs, aligned on x, compared with plain Python and NumPy."""

import math
import statistics

import numpy as np
import pytest
from builders import event_file, scalars, version
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from log_directories import write_run
from series_files import write_series

import pulseboard as pb
from pulseboard.charts.local import LocalCharts
from pulseboard.charts.query import GroupQuery, Query, Smoothing
from pulseboard.charts.student_t import quantile_975
from pulseboard.read.axis.interpolation import interpolate


def groups(directory, **options):
    """The groups of all runs by their labels."""
    charts = LocalCharts(pb.read(directory))
    query = GroupQuery(runs=sorted(charts.runs), tags=["loss"], **options)
    return {group.group: group for group in charts.groups(query)}


def test_runs_with_the_same_steps_are_aggregated_at_each_step(tmp_path):
    for name, offset in (("a", 0.0), ("b", 1.0), ("c", 5.0)):
        write_run(tmp_path / name, *((step, step + offset) for step in range(4)))
    [group] = groups(tmp_path).values()
    values = [[step + offset for offset in (0.0, 1.0, 5.0)] for step in range(4)]
    columns = {name: column.tolist() for name, column in group.columns.items()}
    assert (group.group, group.runs, columns["x"]) == ("all", ("a", "b", "c"), [0, 1, 2, 3])
    assert columns["count"] == [3] * 4
    assert columns["mean"] == pytest.approx([statistics.mean(row) for row in values])
    assert columns["median"] == [statistics.median(row) for row in values]
    assert columns["min"] == [min(row) for row in values]
    assert columns["max"] == [max(row) for row in values]
    sd = statistics.stdev([0.0, 1.0, 5.0])
    assert columns["sd"] == pytest.approx([sd] * 4)
    assert columns["se"] == pytest.approx([sd / math.sqrt(3)] * 4)
    half = 4.302652729911275 * sd / math.sqrt(3)  # two degrees of freedom, from a printed table
    assert columns["low"] == pytest.approx([mean - half for mean in columns["mean"]])
    assert columns["high"] == pytest.approx([mean + half for mean in columns["mean"]])


def test_a_run_counts_only_between_its_first_and_its_last_point(tmp_path):
    write_run(tmp_path / "long", (0, 0.0), (10, 10.0), (20, 20.0))
    write_run(tmp_path / "short", (5, 100.0), (15, 100.0))
    [group] = groups(tmp_path).values()
    assert group.columns["x"].tolist() == [0, 5, 10, 15, 20]
    assert group.columns["count"].tolist() == [1, 2, 2, 2, 1]
    assert group.columns["mean"].tolist() == [0, 52.5, 55, 57.5, 20]
    assert np.isnan(group.columns["sd"][[0, 4]]).all(), "one run has no standard deviation"
    assert np.isnan(group.columns["low"][[0, 4]]).all()


def test_nothing_is_interpolated_next_to_a_value_that_is_not_finite(tmp_path):
    write_run(tmp_path / "a", (0, 0.0), (2, math.nan), (4, 4.0))
    write_run(tmp_path / "b", (1, 1.0), (2, 1.0), (3, 1.0), (4, 1.0))
    [group] = groups(tmp_path).values()
    assert dict(zip(group.columns["x"], group.columns["count"], strict=True)) == {0: 1, 1: 1, 2: 1, 3: 1, 4: 2}


def test_many_points_are_aggregated_by_bucket_and_extremes_are_kept(tmp_path):
    rng = np.random.default_rng(0)
    data = {}
    for i in range(4):
        data[f"r{i}"] = rng.normal(size=5000).astype(np.float32).astype(float)
        write_series(tmp_path / f"r{i}" / "events.out.tfevents.1", range(5000), data[f"r{i}"])
    [group] = groups(tmp_path, buckets=50, start=0, end=4999).values()
    edges = np.linspace(0, 4999, 51)
    column = np.clip(np.searchsorted(edges, np.arange(5000), "right") - 1, 0, 49)
    means = np.array([[values[column == k].mean() for k in range(50)] for values in data.values()])
    stacked = np.stack(list(data.values()))
    assert group.columns["mean"] == pytest.approx(means.mean(axis=0))
    assert group.columns["median"] == pytest.approx(np.median(means, axis=0))
    assert group.columns["sd"] == pytest.approx(means.std(axis=0, ddof=1))
    assert group.columns["min"].tolist() == [stacked[:, column == k].min() for k in range(50)]
    assert group.columns["max"].tolist() == [stacked[:, column == k].max() for k in range(50)]
    assert group.columns["x"] == pytest.approx((edges[1:] + edges[:-1]) / 2)


def test_a_run_with_few_points_is_interpolated_in_the_buckets_between_them(tmp_path):
    write_series(tmp_path / "dense" / "events.out.tfevents.1", range(5000), np.zeros(5000))
    write_run(tmp_path / "sparse", (1000, 10.0), (3000, 30.0))
    [group] = groups(tmp_path, buckets=50).values()
    inside = (group.columns["x"] > 1000) & (group.columns["x"] < 3000)
    assert (group.columns["count"] == 1 + inside).sum() >= 49
    # In a bucket with a point of the sparse run that point counts; elsewhere the line between the two.
    expected = group.columns["x"][inside] / 100 / 2
    assert group.columns["mean"][inside] == pytest.approx(expected, abs=0.3)


def test_runs_are_grouped_by_a_hyperparameter_or_a_config_entry(tmp_path):
    from pulseboard import SummaryWriter

    for name, rate in (("a", 0.1), ("b", 0.1), ("c", 0.2)):
        with SummaryWriter(str(tmp_path / name)) as writer:
            writer.add_hparams({"lr": rate}, {}, run_name=".")
            writer.add_scalar("loss", 1.0, 0)
    write_run(tmp_path / "d", (0, 1.0))
    (tmp_path / "d" / "run.json").write_text('{"config": {"optimizer": {"lr": 0.1}}}')
    found = groups(tmp_path, by_hparam="lr")
    assert {name: group.runs for name, group in found.items()} == {
        "0.1": ("a", "b"),
        "0.2": ("c",),
        "(not set)": ("d",),
    }
    assert groups(tmp_path, by_hparam="optimizer.lr")["0.1"].runs == ("d",)


# On a busy machine an example may take long.
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.integers(0, 20), st.floats(-5, 5) | st.just(math.nan)), max_size=15),
    st.lists(st.floats(-2, 22), max_size=10),
)
def test_interpolation_is_linear_between_neighbors(points, grid):
    points = sorted(points, key=lambda point: point[0])
    last = dict(points)  # of several points with the same x, the last one counts
    out = interpolate(np.array([float(x) for x, _ in points]), np.array([y for _, y in points]), np.array(grid))
    for x, value in zip(grid, out.tolist(), strict=True):
        before = max((at for at in last if at <= x), default=None)
        after = min((at for at in last if at >= x), default=None)
        expected = math.nan
        if x in last:
            expected = last[x]
        elif before is not None and after is not None:
            fraction = (x - before) / (after - before)
            expected = last[before] * (1 - fraction) + last[after] * fraction
        assert value == pytest.approx(expected, nan_ok=True, abs=1e-12)


def test_quantiles_match_printed_tables():
    found = quantile_975(np.array([0, 1, 2, 3, 9, 30, 99, 1000]))
    table = [math.nan, 12.7062, 4.30265, 3.18245, 2.26216, 2.04227, 1.98422, 1.96234]
    assert found.tolist() == pytest.approx(table, abs=1e-5, nan_ok=True)


def test_a_tag_that_no_run_has_makes_no_groups(tmp_path):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "events.out.tfevents.1").write_bytes(event_file(version(), *scalars("other", (1, 1.0))))
    assert groups(tmp_path) == {}


# ---- smoothing, and what is outside the range


@pytest.mark.parametrize(("steps", "buckets"), [(40, 100), (400, 50)])
def test_a_smoothed_group_is_the_mean_of_its_smoothed_runs(tmp_path, steps, buckets):
    for seed in range(3):
        random = np.random.default_rng(seed)
        write_run(tmp_path / f"r{seed}", *((step, float(random.standard_normal())) for step in range(steps)))
    smoothing = Smoothing("debiased", 0.9)
    [group] = groups(tmp_path, smoothing=smoothing, buckets=buckets).values()
    charts = LocalCharts(pb.read(tmp_path))
    windows = charts.window(Query(runs=sorted(charts.runs), tags=["loss"], smoothing=smoothing))
    grid = group.columns["x"]
    rows = [interpolate(window.columns["x"], window.columns["smooth"], grid) for window in windows]
    assert group.smoothed["mean"] == pytest.approx(np.mean(rows, axis=0))
    assert group.smoothed["sd"] == pytest.approx(np.std(rows, axis=0, ddof=1))
    assert np.abs(np.diff(group.smoothed["mean"])).mean() < 0.5 * np.abs(np.diff(group.columns["mean"])).mean()
    [plain] = groups(tmp_path, buckets=buckets).values()
    assert plain.smoothed is None
    assert plain.columns["mean"] == pytest.approx(group.columns["mean"])


def test_between_two_points_a_group_has_its_neighbors(tmp_path):
    for name, offset in (("a", 0.0), ("b", 2.0)):
        write_run(tmp_path / name, *((step, step + offset) for step in (0, 10, 20)))
    [group] = groups(tmp_path, start=12, end=17, neighbors=True).values()
    assert group.columns["x"].tolist() == [10, 20]
    assert group.columns["mean"].tolist() == [11, 21]
    assert group.extent == (0, 20)
