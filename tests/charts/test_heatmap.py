"""Heatmaps of families of tags, compared with the logged points."""

import numpy as np
import pytest

import pulseboard as pb
from pulseboard import SummaryWriter
from pulseboard.charts.derived.heatmap import MAX_CELLS, family_members
from pulseboard.charts.local import LocalCharts
from pulseboard.charts.query import BadQuery


@pytest.fixture
def charts(tmp_path):
    with SummaryWriter(tmp_path / "run") as writer:
        for step in range(10):
            for layer in (0, 2, 10):
                value = np.nan if (layer, step) == (2, 7) else layer * 100 + step
                writer.add_scalar(f"norm/layer_{layer}", value, step)
        writer.add_scalar("norm/layer_11", 5.0, 9)
        writer.add_scalar("norm/layer_x", 1.0, 0)
        writer.add_text("norm/layer_12", "not a number", 0)
    charts = LocalCharts(pb.read(tmp_path))
    charts.refresh()
    return charts


def test_a_family_is_the_tags_with_a_number_in_place_of_i_by_size():
    tags = ["a/layer_10", "a/layer_9", "a/layer_x", "b/layer_1", "a/layer_1/bias", "a/layer_01"]
    assert list(family_members("a/layer_{i}", tags)) == ["01", "9", "10"]
    with pytest.raises(BadQuery, match="has no"):
        family_members("a/layer_1", tags)


def test_cells_are_means_of_the_points_and_gaps_differ_from_nan(charts):
    found = charts.heatmap("run", "norm/layer_{i}", start=None, end=None, columns=5)
    assert found.members == ["0", "2", "10", "11"]
    np.testing.assert_allclose(found.values[0], [0.5, 2.5, 4.5, 6.5, 8.5])
    np.testing.assert_allclose(found.values[2], [1000.5, 1002.5, 1004.5, 1006.5, 1008.5])
    assert found.values[1].tolist() == [200.5, 202.5, 204.5, np.inf, 208.5]
    assert np.isnan(found.values[3]).tolist() == [True] * 4 + [False]
    assert found.span == (0.0, 9.0)


def test_a_range_of_steps_has_no_more_columns_than_points(charts):
    found = charts.heatmap("run", "norm/layer_{i}", start=2.0, end=4.0, columns=400)
    np.testing.assert_allclose(found.values[0], [2, 3, 4])
    with pytest.raises(BadQuery, match="swap"):
        charts.heatmap("run", "norm/layer_{i}", start=4.0, end=2.0, columns=400)


def test_a_family_without_members_is_empty(charts):
    assert charts.heatmap("run", "nothing_{i}", start=None, end=None, columns=10).members == []
    assert MAX_CELLS // 10_000 >= 200
