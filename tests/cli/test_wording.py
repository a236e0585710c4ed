"""Numbers in words."""

import math

import pytest

from pulseboard.cli import wording


@pytest.mark.parametrize(
    ("size_bytes", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (150 * 1024, "150 KiB"),
        (5 * 1024**2, "5.0 MiB"),
        (3 * 1024**3, "3.0 GiB"),
        (2 * 1024**4, "2.0 TiB"),
        (5000 * 1024**4, "5000.0 TiB"),
    ],
)
def test_sizes_keep_their_unit_readable(size_bytes, words):
    assert wording.size(size_bytes) == words


@pytest.mark.parametrize(
    ("secs", "words"),
    [
        (0, "0s"),
        (59.4, "59s"),
        (60, "1m 00s"),
        (3599, "59m 59s"),
        (3600, "1h 00m"),
        (86399, "23h 59m"),
        (90000, "1d 01h"),
        (math.nan, "-"),
        (-1, "-"),
        (math.inf, "-"),
        (-math.inf, "-"),
    ],
)
def test_durations_use_their_two_largest_units(secs, words):
    assert wording.duration(secs) == words


def test_a_duration_just_below_a_minute_is_not_sixty_seconds():
    assert wording.duration(59.7) == "1m 00s"


@pytest.mark.parametrize(
    ("wall_time", "words"),
    [
        (1_700_000_000.0, "2023-11-14 22:13"),
        (0.0, "-"),
        (-1.0, "-"),
        (math.nan, "-"),
        (math.inf, "-"),
        (1e300, "-"),
    ],
)
def test_dates_are_local_or_a_dash(wall_time, words):
    assert wording.date(wall_time) == words


def test_values_have_five_digits():
    assert [wording.value(v) for v in (0.123456789, 1e-10, 123456.0, math.nan, math.inf)] == [
        "0.12346",
        "1e-10",
        "1.2346e+05",
        "nan",
        "inf",
    ]


def test_nouns_agree_with_their_number():
    assert [wording.plural(n, "run") for n in (0, 1, 2, 1000)] == ["0 runs", "1 run", "2 runs", "1,000 runs"]
