"""Trend, spikes, gap, percentage and ETA."""

from __future__ import annotations

import math

import pytest

from pulseboard.record.console.console import lines as lines
from pulseboard.record.console.progress import Progress


def test_the_first_loss_has_no_trend() -> None:
    assert Progress().loss(2.0) == " "


@pytest.mark.parametrize(("value", "sign"), [(1.99, "\\"), (2.0, " "), (2.01, "/")])
def test_the_trend_is_relative_to_the_previous_average(value: float, sign: str) -> None:
    progress = Progress()
    for loss in (9.0, 1.0, 3.0, 2.0, 1.5, 2.5):  # the average of the last five is 2
        progress.loss(loss)
    assert progress.loss(value) == sign


def test_a_nan_loss_does_not_change_the_trend() -> None:
    progress = Progress()
    assert [progress.loss(loss) for loss in (2.0, math.nan, None, math.inf, 1.0)] == [" ", " ", " ", " ", "\\"]


def spikes(*norms: float) -> list[bool]:
    progress = Progress()
    return [progress.norm(norm) for norm in norms]


@pytest.mark.parametrize(("last", "marked"), [(4.9, False), (5.0, False), (5.1, True)])
@pytest.mark.parametrize("before", [3, 10, 500])
def test_a_norm_above_five_times_its_average_is_a_spike(before: int, last: float, marked: bool) -> None:
    assert spikes(*[1.0] * before, last) == [False] * before + [marked]


def test_the_first_norms_are_not_spikes() -> None:
    assert spikes(0.1, 100.0, 1.0) == [False, False, False]


def test_a_spike_does_not_hide_the_next() -> None:
    assert spikes(*[1.0] * 20, 1000.0, 1.0, 1000.0)[-3:] == [True, False, True]


def test_a_new_level_becomes_normal() -> None:
    assert not spikes(*[1.0] * 20, *[10.0] * 20)[-1]


def test_a_nan_norm_is_marked_and_not_averaged() -> None:
    assert spikes(*[1.0] * 5, math.nan, math.inf, 4.9, 5.1) == [*[False] * 5, True, True, False, False]
    assert spikes(*[1.0] * 5, math.nan, 5.1) == [*[False] * 5, True, True]


def test_the_gap_is_relative_to_the_average_since_the_last_evaluation() -> None:
    progress = Progress()
    assert progress.gap(2.0) is None
    for loss in (3.0, math.nan, 1.0):
        progress.loss(loss)
    assert progress.gap(2.5) == 0.5
    assert progress.gap(2.25) == 0.25  # no step since: the same average
    progress.loss(1.0)
    assert progress.gap(0.5) == -0.5


def test_progress_is_that_of_the_run_if_its_number_of_steps_is_known() -> None:
    progress = Progress(total_steps=800)
    assert progress.step(100, epoch=0.9, duration_ms=1000) == (12.5, 700.0)
    assert progress.step(800, epoch=1.0, duration_ms=1000) == (100.0, 0.0)
    assert progress.step(900, epoch=1.1, duration_ms=1000) == (100.0, 0.0)


def test_otherwise_progress_is_that_of_the_epoch() -> None:
    progress = Progress()
    percent, eta_secs = progress.step(100, epoch=1.25, duration_ms=1000)
    assert percent == 25.0
    assert eta_secs == pytest.approx(60.0)  # 0.75 epochs at 80 steps an epoch
    percent, eta_secs = progress.step(110, epoch=1.5, duration_ms=2000)
    assert percent == 50.0
    assert eta_secs == pytest.approx(0.5 * 40 * 1.5)  # ten steps took a quarter, at 1.5 s on average


@pytest.mark.parametrize("epoch", [None, math.nan, -1.0])
def test_without_an_epoch_nothing_is_known(epoch: float | None) -> None:
    assert Progress().step(100, epoch=epoch, duration_ms=1000) == (None, None)


def test_the_first_step_has_no_eta_without_a_rate() -> None:
    assert Progress().step(0, epoch=0.0, duration_ms=1000) == (0.0, None)


def test_steps_of_unknown_duration_are_timed() -> None:
    progress = Progress(total_steps=100)
    assert progress.step_at(10, now_secs=50.0) == (10.0, None)
    assert progress.step_at(20, now_secs=55.0) == (20.0, 40.0)
    assert progress.step_at(10, now_secs=56.0) == (10.0, None)
    assert Progress().step_at(10, now_secs=0.0) == (None, None)
