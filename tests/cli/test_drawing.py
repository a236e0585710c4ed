"""Curves in characters."""

import numpy as np

from pulseboard.cli.drawing import chart, sparkline
from pulseboard.core.series import Series


def series(values, steps=None):
    values = np.array(values, float)
    steps = np.arange(len(values)) if steps is None else np.array(steps, np.int64)
    return Series("t", steps, np.zeros(len(values)), values, np.zeros(len(values), bool))


def test_a_sparkline_rises_with_its_values():
    assert sparkline(np.arange(8.0)) == "▁▂▃▄▅▆▇█"


def test_a_sparkline_is_no_longer_than_its_width():
    assert len(sparkline(np.arange(10_000.0))) == 24
    assert len(sparkline(np.arange(5.0))) == 5
    assert sparkline(np.array([])) == ""


def test_a_level_curve_stays_in_the_middle():
    assert sparkline(np.full(4, 7.0)) == "▄▄▄▄"


def test_a_segment_without_finite_values_is_crossed_out():
    assert sparkline(np.array([0.0, np.nan, np.inf, 7.0])) == "▁××█"
    assert sparkline(np.array([np.nan, np.nan])) == "××"


def test_a_segment_with_some_finite_values_shows_them():
    assert "×" not in sparkline(np.tile([1.0, np.nan], 100))


def test_the_largest_floats_are_drawn_without_a_warning():
    huge = np.tile([1.7e308, -1.7e308], 50)
    assert len(sparkline(huge)) == 24
    assert len(sparkline(np.abs(huge))) == 24
    assert chart(series(huge))


def test_a_chart_shows_a_spike_of_one_step_as_a_line():
    quiet = chart(series(np.zeros(5000)))
    spiked = np.zeros(5000)
    spiked[2500] = 1.0
    lines = chart(series(spiked)).splitlines()
    assert all(line.partition("┤")[2].strip("\u2800 ") for line in lines[:12])
    assert quiet != "\n".join(lines)


def test_a_chart_labels_its_ends():
    lines = chart(series([2.0, 8.0], steps=[100, 900])).splitlines()
    assert lines[0].startswith("8 ┤")
    assert lines[11].startswith("2 ┤")
    assert lines[-1].split() == ["100", "900"]


def test_a_chart_marks_what_cannot_be_drawn():
    assert "×" in chart(series([1.0, np.nan, 2.0])).splitlines()[-2]
    assert "×" not in chart(series([1.0, 1.5, 2.0])).splitlines()[-2]


def test_a_chart_of_nothing_says_so():
    assert chart(series([])) == "(no points)"
    assert chart(series([np.nan, np.inf])) == "(none of the 2 points can be drawn)"


def test_extreme_steps_are_drawn_in_order():
    steps = [-(2**63), 0, 2**63 - 1]
    whole = chart(series([1.0, 2.0, 3.0], steps=steps)).splitlines()
    near = chart(series([1.0, 2.0, 3.0], steps=[-1, 0, 1])).splitlines()
    assert whole[:-1] == near[:-1]


def test_a_chart_is_as_wide_as_it_may_be():
    for width in (40, 72, 100):
        assert max(map(len, chart(series(np.arange(50.0)), width=width).splitlines())) <= width
