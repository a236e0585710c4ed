"""Numbers as people write them."""

import pytest

from pulseboard.diagnose.phrases import duration


@pytest.mark.parametrize(
    ("secs", "text"),
    [
        (0.25, "0.25 s"),
        (9.96, "10 s"),
        (119, "119 s"),
        (120, "2 min"),
        (7199, "120 min"),
        (7200, "2 h"),
        (12600, "3.5 h"),
        (400 * 86400, "400 days"),
    ],
)
def test_a_time_has_one_unit_and_no_exponent(secs, text):
    assert duration(secs) == text
