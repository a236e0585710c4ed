import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulseboard.diagnose.track import HEAD_POINTS, MOST_BLOCKS, TAIL_POINTS, Change, Track


def series_of(n, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=n).round(1)
    values[rng.random(n) < 0.02] = np.nan
    values[rng.random(n) < 0.01] = np.inf
    return np.arange(n, dtype=np.int64), np.arange(n) * 0.5, values


def in_pieces(steps, walls, values, cuts):
    track = Track("x", changes=[Change(), Change(block=16), Change(sign=-1)])
    for a, b in zip([0, *cuts], [*cuts, len(steps)], strict=True):
        track.append(steps[a:b], walls[a:b], values[a:b])
    return track


@given(st.integers(1, 20_000), st.lists(st.integers(0, 20_000), max_size=12), st.integers(0, 5))
def test_a_track_is_the_same_however_its_points_arrived(n, cuts, seed):
    steps, walls, values = series_of(n, seed)
    whole = in_pieces(steps, walls, values, [])
    pieces = in_pieces(steps, walls, values, sorted(min(cut, n) for cut in cuts))
    assert pieces.block_points == whole.block_points
    for most in (None, 512, 100):
        assert np.array_equal(pieces.points(most=most).steps, whole.points(most=most).steps)
        assert np.array_equal(pieces.points(most=most).values, whole.points(most=most).values)
    assert pieces.not_finite == whole.not_finite
    assert pieces.longest_streak == whole.longest_streak
    assert np.array_equal(pieces.tail.values, whole.tail.values, equal_nan=True)
    assert np.array_equal(pieces.head.values, whole.head.values, equal_nan=True)
    assert (pieces.low, pieces.high) == (whole.low, whole.high)
    for change in (Change(), Change(block=16), Change(sign=-1)):
        assert pieces.alarms(change) == whole.alarms(change)


def test_a_short_series_is_remembered_exactly():
    steps, walls, values = series_of(MOST_BLOCKS)
    finite = np.isfinite(values)
    points = Track("x")
    points.append(steps, walls, values)
    assert np.array_equal(points.points().steps, steps[finite])
    assert np.array_equal(points.points().values, values[finite])


@pytest.mark.parametrize("n", [10_000, 1_000_000])
def test_a_long_series_keeps_bounded_space_and_its_extremes(n):
    steps, walls, values = np.arange(n), np.arange(n) * 1.0, np.sin(np.arange(n) / 1000)
    values[n // 3] = 50.0
    track = Track("x")
    track.append(steps, walls, values)
    assert len(track.points().values) <= MOST_BLOCKS + 1
    assert len(track.head.values) == HEAD_POINTS
    assert len(track.tail.values) == TAIL_POINTS
    assert track.high == 50.0
    assert track.count == n
    assert abs(track.points().values.mean() - values.mean()) < 0.01


def test_means_of_blocks_are_means_of_their_points():
    steps, walls, values = np.arange(8192), np.zeros(8192), np.random.default_rng(1).normal(size=8192)
    track = Track("x")
    track.append(steps, walls, values)
    assert track.block_points == 2
    np.testing.assert_allclose(track.points().values, values.reshape(-1, 2).mean(axis=1))


def test_rows_of_points_that_are_not_numbers_are_counted_across_appends():
    track = Track("x")
    track.append(np.arange(3), np.zeros(3), np.array([1.0, np.nan, np.inf]))
    track.append(np.arange(3, 6), np.zeros(3), np.array([np.nan, 2.0, np.nan]))
    seen = track.not_finite
    assert (seen.nan, seen.inf, seen.first_step, seen.last_step) == (3, 1, 1, 5)
    assert (seen.longest_row, seen.in_a_row) == (3, 1)


def test_the_longest_streak_of_one_value_is_kept():
    track = Track("x")
    track.append(np.arange(6), np.zeros(6), np.array([1.0, 2.0, 2.0, 3.0, 2.0, 2.0]))
    track.append(np.arange(6, 10), np.zeros(4), np.array([2.0, 2.0, 5.0, 5.0]))
    streak = track.longest_streak
    assert (streak.value, streak.length, streak.first_step, streak.last_step) == (2.0, 4, 4, 7)
