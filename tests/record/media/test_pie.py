"""Pie charts as SVG."""

from __future__ import annotations

import math

from pulseboard.record.media.pie import pie_svg


def test_a_pie_has_a_slice_for_each_segment_that_has_memory():
    svg = pie_svg({"a": 3.0, "b & c": 1.0, "none": 0.0, "nan": math.nan}, unit="MiB", title="t")
    assert svg.count("<path") == 2
    assert "b &amp; c: 1.0 MiB (25.0%)" in svg
    # Three quarters, clockwise from the top, end at the left.
    assert 'd="M0 0L0.00 -100.00A100 100 0 1 1 -100.00 ' in svg


def test_a_pie_with_one_slice_is_a_circle_and_with_none_is_empty():
    assert "<circle" in pie_svg({"a": 3.0}, unit="MiB", title="t")
    assert "<path" not in pie_svg({}, unit="MiB", title="t")
