"""Steps are spread over the given time, and none is skipped if it is too short."""

import time

import pytest

from pulseboard.demo.pace import Pace


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves only in `sleep`."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", lambda secs: now.__setitem__(0, now[0] + secs))
    return now


def test_steps_are_spread_evenly(clock):
    pace = Pace(secs=60, steps=120)
    for step in range(1, 121):
        pace.step()
        assert clock[0] == pytest.approx(100 + step / 2)


def test_the_next_step_makes_up_for_a_slow_one(clock):
    pace = Pace(secs=10, steps=10)
    clock[0] += 2.5
    pace.step()
    pace.step()
    assert clock[0] == 102.5
    pace.step()
    assert clock[0] == 103


def test_no_time_at_all_means_no_waiting(clock):
    pace = Pace(secs=0, steps=10)
    pace.step()
    assert clock[0] == 100
