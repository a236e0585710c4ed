"""Curves over another metric than the step."""

import math

import numpy as np
import pytest
from builders import event_file, scalars, version
from log_directories import append

import pulseboard as pb
from pulseboard.charts.local import LocalCharts
from pulseboard.charts.query import BadQuery, GroupQuery, Query, Smoothing


def write(directory, **tags):
    path = directory / "events.out.tfevents.1"
    directory.mkdir(parents=True)
    names = {tag.replace("__", "/"): points for tag, points in tags.items()}
    path.write_bytes(
        event_file(version(), *(event for tag, points in names.items() for event in scalars(tag, *points)))
    )
    return path


def drawn(charts, **options):
    """The points of each window: run -> [(x, y)]."""
    windows = charts.window(Query(runs=list(charts.runs), tags=["loss"], **options))
    return {
        one.run: list(zip(one.columns["x"].tolist(), one.columns["y"].tolist(), strict=True))
        for one in windows
        if one.exact
    }


def test_x_is_the_metric_at_the_step_of_the_point(tmp_path):
    write(tmp_path / "a", loss=[(1, 9.0), (2, 8.0), (3, 7.0)], train__tokens=[(1, 512), (2, 1024), (3, 4096)])
    assert drawn(LocalCharts(pb.read(tmp_path)), x="tag:train/tokens") == {"a": [(512, 9.0), (1024, 8.0), (4096, 7.0)]}


def test_x_is_interpolated_between_steps_of_the_metric_and_missing_outside(tmp_path):
    loss = [(step, float(step)) for step in range(7)]
    write(tmp_path / "a", loss=loss, tokens=[(1, 100), (3, 300), (5, 900)])
    points = drawn(LocalCharts(pb.read(tmp_path)), x="tag:tokens")
    assert points == {"a": [(100, 1.0), (200, 2.0), (300, 3.0), (600, 4.0), (900, 5.0)]}


def test_next_to_a_value_that_is_not_finite_a_point_has_no_x(tmp_path):
    loss = [(step, float(step)) for step in range(6)]
    write(tmp_path / "a", loss=loss, tokens=[(0, 0), (2, math.nan), (4, 400), (5, 500)])
    assert drawn(LocalCharts(pb.read(tmp_path)), x="tag:tokens") == {"a": [(0, 0.0), (400, 4.0), (500, 5.0)]}


def test_a_metric_that_falls_sorts_the_points_by_its_value(tmp_path):
    write(tmp_path / "a", loss=[(0, 3.0), (1, 2.0), (2, 1.0)], accuracy=[(0, 0.25), (1, 0.75), (2, 0.5)])
    assert drawn(LocalCharts(pb.read(tmp_path)), x="tag:accuracy") == {"a": [(0.25, 3.0), (0.5, 1.0), (0.75, 2.0)]}


def test_a_run_without_the_metric_is_left_out(tmp_path):
    write(tmp_path / "a", loss=[(0, 1.0)], tokens=[(0, 5)])
    write(tmp_path / "b", loss=[(0, 1.0)])
    assert list(drawn(LocalCharts(pb.read(tmp_path)), x="tag:tokens")) == ["a"]


def test_new_points_of_the_curve_and_of_the_metric_are_drawn(tmp_path):
    path = write(tmp_path / "a", loss=[(0, 1.0), (1, 2.0)], tokens=[(0, 10), (1, 20)])
    charts = LocalCharts(pb.read(tmp_path))
    assert drawn(charts, x="tag:tokens") == {"a": [(10, 1.0), (20, 2.0)]}
    append(path, (2, 3.0))
    charts.refresh()
    assert drawn(charts, x="tag:tokens") == {"a": [(10, 1.0), (20, 2.0)]}  # the metric is not known there yet
    append(path, (2, 30), tag="tokens")
    charts.refresh()
    assert drawn(charts, x="tag:tokens") == {"a": [(10, 1.0), (20, 2.0), (30, 3.0)]}


def test_ranges_pixel_columns_and_smoothing_are_in_units_of_the_metric(tmp_path):
    n = 5000
    rng = np.random.default_rng(0)
    values = rng.normal(size=n)
    write(
        tmp_path / "a",
        loss=[(step, float(value)) for step, value in enumerate(values)],
        tokens=[(step, 7 * step) for step in range(n)],
    )
    charts = LocalCharts(pb.read(tmp_path))
    common = {"runs": ["a"], "tags": ["loss"], "buckets": 100, "smoothing": Smoothing("debiased", 0.9)}
    [by_tokens] = charts.window(Query(x="tag:tokens", start=700.0, end=30_000.0, **common))
    [by_step] = charts.window(Query(x="step", start=100.0, end=30_000 / 7, **common))
    assert by_tokens.points == by_step.points == 4186
    assert not by_tokens.exact
    assert (by_tokens.columns["x"] == 7 * by_step.columns["x"]).all()
    for name in ("first", "min", "max", "last", "smooth"):
        assert (by_tokens.columns[name] == by_step.columns[name]).all()


def test_points_that_a_restart_replaced_keep_their_x(tmp_path):
    from builders import session_start

    path = tmp_path / "a" / "events.out.tfevents.1"
    path.parent.mkdir()
    first = [event for i in range(4) for tag in ("loss", "tokens") for event in scalars(tag, (i, 10.0 * i))]
    again = [
        event
        for i in (2, 3)
        for tag, value in (("loss", 1.0), ("tokens", 5.0))
        for event in scalars(tag, (i, value * i))
    ]
    path.write_bytes(event_file(version(), *first, session_start(2), *again))
    charts = LocalCharts(pb.read(tmp_path))
    [window] = charts.window(Query(runs=["a"], tags=["loss"], x="tag:tokens", orphans=True))
    rows = zip(*(window.columns[name].tolist() for name in ("x", "y", "orphan")), strict=True)
    assert list(rows) == [(0, 0, 0), (10, 10, 0), (10, 2, 0), (15, 3, 0), (20, 20, 1), (30, 30, 1)]


def test_groups_are_aligned_on_the_metric(tmp_path):
    write(tmp_path / "a", loss=[(0, 1.0), (1, 3.0)], tokens=[(0, 100), (1, 200)])
    write(tmp_path / "b", loss=[(0, 5.0), (10, 7.0)], tokens=[(0, 100), (10, 200)])
    [group] = LocalCharts(pb.read(tmp_path)).groups(GroupQuery(runs=["a", "b"], tags=["loss"], x="tag:tokens"))
    assert group.columns["x"].tolist() == [100, 200]
    assert group.columns["mean"].tolist() == [3.0, 5.0]


def test_metrics_that_rise_are_offered_first(tmp_path):
    write(
        tmp_path / "a", loss=[(0, 2.0), (1, 1.0)], tokens=[(0, 1), (1, 2)], epoch=[(0, 0), (1, 0), (2, 1)], one=[(0, 1)]
    )
    write(tmp_path / "b", loss=[(0, 1.0), (1, 2.0)], tokens=[(0, 1), (1, 9)], flat=[(0, 1), (1, 1)])
    found = LocalCharts(pb.read(tmp_path)).x_axis_metrics(["a", "b"])
    assert [(metric.tag, metric.rises) for metric in found] == [
        *(("epoch", True), ("tokens", True)),
        *(("flat", False), ("loss", False), ("one", False)),
    ]


def test_an_axis_that_does_not_exist_is_an_error():
    for x in ("tag:", "tokens", ""):
        with pytest.raises(BadQuery, match="tag:NAME"):
            Query(runs=[], tags=[], x=x)
