"""Series written as an event file: every bit comes back, in our reader and in TensorBoard."""

import math
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import accumulate, bits, points_of, scalars_by_tensorboard

import pulseboard as pb
from pulseboard.core.series import Series
from pulseboard.record.event_log.series_file import NO_WALL_TIME, write_series


def series_of(tag, *points):
    steps, walls, values = (np.array(column) for column in zip(*points, strict=True))
    return Series(
        tag=tag,
        steps=steps.astype(np.int64),
        wall_times=walls.astype(float),
        values=values.astype(float),
        orphaned=np.zeros(len(steps), bool),
    )


def read_back(directory):
    (run,) = pb.read(directory).values()
    return run


def test_points_are_read_back_bit_for_bit_also_by_tensorboard(tmp_path):
    single = series_of("single", (0, 10.5, 0.5), (1, 11.5, math.nan), (2, 12.5, -math.inf))
    double = series_of("double", (0, 10.5, 0.1), (2, 12.5, 1e300), (2, 13.5, 16777217.0))
    path = write_series(tmp_path / "run", series=[single, double])
    assert os.path.dirname(path) == str(tmp_path / "run")
    run = read_back(tmp_path / "run")
    assert run.tags("scalar") == ["single", "double"]
    accumulated = scalars_by_tensorboard(accumulate(tmp_path / "run"))
    for one in (single, double):
        assert bits(points_of(run.series(one.tag))) == bits(points_of(one))
        assert bits(accumulated[one.tag]) == bits(points_of(one))
    assert run.notes() == []


def test_points_with_the_same_step_share_an_event_and_falling_steps_keep_their_order(tmp_path):
    a = series_of("a", *((step, step, 1.0) for step in range(50)))
    b = series_of("b", *((step, step, 2.0) for step in range(50)))
    back = series_of("back", (5, 1, 1.0), (3, 2, 2.0), (3, 2, 3.0), (9, 0, 4.0))
    together = os.path.getsize(write_series(tmp_path / "together", series=[a, b]))
    apart = sum(os.path.getsize(write_series(tmp_path / one.tag, series=[one])) for one in (a, b))
    assert together < 0.8 * apart
    write_series(tmp_path / "run", series=[a, back, b])
    run = read_back(tmp_path / "run")
    for one in (a, b, back):
        assert points_of(run.series(one.tag)) == points_of(one)


def test_an_unknown_wall_time_is_zero(tmp_path):
    write_series(tmp_path, series=[series_of("a", (0, math.nan, 1.0), (1, 5.0, 2.0), (2, math.inf, 3.0))])
    assert read_back(tmp_path).series("a").wall_times.tolist() == [NO_WALL_TIME, 5.0, NO_WALL_TIME]


def test_the_configuration_is_hyperparameters(tmp_path):
    config = {"lr": 0.1, "name": "adam", "nesterov": True, "none": None}
    write_series(tmp_path, series=[series_of("a", (0, 1.0, 1.0))], config=config)
    assert read_back(tmp_path).hparams().values == {"lr": 0.1, "name": "adam", "nesterov": True}


def test_a_directory_that_cannot_be_written_raises_and_leaves_nothing(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        write_series(tmp_path / "file" / "below", series=[])
    broken = series_of("a", (0, 1.0, 1.0), (1, 2.0, 2.0))
    object.__setattr__(broken, "values", np.zeros(3))
    with pytest.raises(ValueError, match="zip"):
        write_series(tmp_path / "run", series=[broken])
    assert os.listdir(tmp_path / "run") == []


_POINT = st.tuples(st.integers(-(2**62), 2**62), st.floats(0, 4e9), st.floats())


@settings(max_examples=50, deadline=None)
@given(columns=st.dictionaries(st.text("ab/ é", min_size=1, max_size=4), st.lists(_POINT, min_size=1, max_size=12)))
def test_any_points_are_read_back(tmp_path_factory, columns):
    directory = tmp_path_factory.mktemp("run")
    made = [series_of(tag, *points) for tag, points in columns.items()]
    write_series(directory, series=made)
    run = read_back(directory)
    assert set(run.tags("scalar")) == set(columns)
    for one in made:
        got, want = run.series(one.tag), one
        np.testing.assert_array_equal(got.steps, want.steps)
        np.testing.assert_array_equal(got.wall_times, want.wall_times)
        np.testing.assert_array_equal(got.values, want.values)
