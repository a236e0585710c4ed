"""Binary columns: a round trip changes nothing, and values take no more bytes than needed."""

import numpy as np
import pytest
from servers import read_columns

from pulseboard.serve.http.columns import encode


def round_trip(**columns):
    data = encode([({"run": "r", "tag": "t"}, columns)], revision=3)
    ((_, found),) = read_columns(data).values()
    return found


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.5, -2.0, 0.0], "float32"),
        ([0.1], "float64"),
        ([float(np.float32(0.1))], "float32"),
        ([np.nan, np.inf, -np.inf, 1.0], "float32"),
        ([np.nan, 0.1], "float64"),
        ([1e300], "float64"),
        ([1e-45], "float64"),
        ([16777217.0], "float64"),
        ([], "float32"),
    ],
)
def test_values_become_float32_only_if_that_loses_nothing(values, kind):
    found = round_trip(y=np.array(values, np.float64))["y"]
    assert str(found.dtype) == kind
    np.testing.assert_array_equal(found.astype(np.float64), values)


def test_x_is_always_float64_and_counts_are_integers():
    found = round_trip(x=np.arange(3.0), nan=np.array([1, 2, 3], np.uint32), orphan=np.array([0, 0, 1], np.uint32))
    assert [str(found[name].dtype) for name in ("x", "nan", "orphan")] == ["float64", "uint32", "uint8"]
    assert found["orphan"].tolist() == [0, 0, 1]


def test_columns_of_any_length_start_at_multiples_of_eight():
    for length in range(10):
        found = round_trip(
            x=np.arange(float(length)),
            y=np.arange(float(length)),
            orphan=np.ones(length, np.uint32),
            nan=np.zeros(length, np.uint32),
        )
        assert {len(column) for column in found.values()} == {length}


def test_slices_that_are_not_contiguous_are_encoded():
    assert round_trip(y=np.arange(10.0)[::2])["y"].tolist() == [0, 2, 4, 6, 8]


def test_a_name_may_contain_any_character():
    data = encode([({"run": 'a"\n\u20ac\x00', "tag": "t"}, {})], revision=1)
    assert next(iter(read_columns(data)))[0] == 'a"\n\u20ac\x00'
