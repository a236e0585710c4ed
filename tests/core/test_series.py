"""A series says what it is."""

import numpy as np

from pulseboard.core.series import Series


def series(values, *, orphaned=None):
    n = len(values)
    lost = np.zeros(n, bool) if orphaned is None else np.array(orphaned)
    return Series("loss", np.arange(n) * 10, np.arange(n) + 0.5, np.array(values, float), lost)


def test_the_repr_has_points_steps_and_last_value():
    assert repr(series([1.0, 0.123456789])) == "Series('loss', 2 points, steps 0..10, last 0.123457)"


def test_the_repr_counts_orphaned_points():
    assert repr(series([1.0, 2.0], orphaned=[True, False])).endswith(", 1 orphaned)")


def test_an_empty_series_is_a_series():
    assert repr(series([])) == "Series('loss', 0 points)"
    assert len(series([])) == 0


def test_columns_are_the_three_arrays():
    one = series([1.0])
    assert list(one.columns()) == ["step", "wall_time", "value"]
    assert one.columns()["value"] is one.values
