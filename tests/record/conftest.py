"""What the record tests share."""

import pytest

from pulseboard.record import report


@pytest.fixture(autouse=True)
def fresh_messages():
    """Each test hears what is said once a process."""
    report.forget()
    yield
    report.forget()
