"""What all tests of record share."""

import pytest

from pulseboard.record import messages


@pytest.fixture(autouse=True)
def fresh_messages():
    """Messages that are printed once per process are printed again in each test."""
    messages.reset()
    yield
    messages.reset()
