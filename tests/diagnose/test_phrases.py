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


@pytest.mark.parametrize(
    ("summary", "begins"),
    [("the sum of a, b rose", "The sum"), ("theta rose", "theta"), ("loss rose", "loss")],
)
def test_a_summary_begins_with_a_tag_as_it_was_logged_or_with_a_capital(case, summary, begins):
    made = case({"a": [1.0, 2.0]})
    assert made.finding("loss-diverged", "info", "a", summary).summary.startswith(begins)
