"""False-alarm rates: what the loss and evaluation findings make of curves in which nothing is wrong."""

import numpy as np
import pytest

from pulseboard.diagnose.detector import all_detectors, run_detectors

pytestmark = pytest.mark.early

# Together at most this share of simulated healthy runs may be flagged.
MOST_FLAGGED = 0.02
RUNS = 150


def noise(rng, n, color):
    """White noise, noise with a memory, or noise with heavy tails; standard deviation about 1."""
    white = rng.normal(size=n)
    if color == "memory":
        kept = np.empty(n)
        last = 0.0
        for i in range(n):
            last = 0.8 * last + 0.6 * white[i]
            kept[i] = last
        return kept
    return rng.standard_t(3, size=n) / 1.7 if color == "tails" else white


def healthy(rng, n, evaluations, color):
    """A training loss that falls, a validation loss that follows, and an accuracy that rises."""
    start, floor, speed = rng.uniform(1, 8), rng.uniform(0.05, 0.6), rng.uniform(3, 12)
    level = rng.uniform(0.01, 0.06)
    x = np.linspace(0, 1, n)
    train = start * (floor + (1 - floor) * np.exp(-speed * x)) + level * start * noise(rng, n, color)
    t = np.linspace(0.02, 1, evaluations)
    gap = rng.uniform(1.0, 1.3)
    val = gap * start * (floor + (1 - floor) * np.exp(-speed * t)) + 0.4 * level * start * rng.normal(size=evaluations)
    accuracy = np.clip(0.9 - 0.7 * np.exp(-speed * t) + 0.01 * rng.normal(size=evaluations), 0, 1)
    steps = (t * (n - 1)).astype(int)
    return {"train/loss": np.abs(train), "val/loss": (steps, np.abs(val)), "val/accuracy": (steps, accuracy)}


def alarms(case, curves):
    found = run_detectors(case(curves)).findings
    return [finding.slug for finding in found if finding.severity != "info"]


@pytest.mark.parametrize("color", ["white", "memory", "tails"])
@pytest.mark.parametrize(
    ("points", "evaluations"),
    [(20, 5), (60, 12), (400, 20), pytest.param(2000, 100, marks=pytest.mark.long)],
)
def test_healthy_runs_are_rarely_flagged(case, color, points, evaluations):
    rng = np.random.default_rng(points + len(color))
    flagged = [found for _ in range(RUNS) if (found := alarms(case, healthy(rng, points, evaluations, color)))]
    assert len(flagged) <= MOST_FLAGGED * RUNS, flagged[:10]


@pytest.mark.parametrize("evaluations", [6, 10, 20, 40, 100])
def test_a_validation_loss_that_turns_up_by_30_percent_is_found_with_any_number_of_evaluations(case, evaluations):
    rng = np.random.default_rng(evaluations)
    found = 0
    for _ in range(20):
        t = np.linspace(0, 1, evaluations)
        falls = 2.0 * np.exp(-2.5 * np.minimum(t, 2 / 3)) + 1
        val = falls * np.where(t > 2 / 3, 1 + 0.3 * (t - 2 / 3) * 3, 1) * (1 + 0.01 * rng.normal(size=evaluations))
        x = np.linspace(0, 1, 400)
        train = 3 * np.exp(-3 * x) + 0.3 + 0.05 * rng.normal(size=400)
        steps = (t * 399).astype(int)
        found += "overfitting" in alarms(case, {"train/loss": train, "val/loss": (steps, val)})
    assert found >= 18


def test_a_validation_loss_that_stops_falling_while_training_goes_on_is_mentioned(case):
    rng = np.random.default_rng(0)
    x, t = np.linspace(0, 1, 400), np.linspace(0, 1, 20)
    train = 3 * np.exp(-3 * x) + 0.1 + 0.03 * rng.normal(size=400)
    val = np.maximum(3 * np.exp(-6 * t), 1.2) + 0.005 * rng.normal(size=20)
    found = run_detectors(case({"train/loss": train, "val/loss": ((t * 399).astype(int), val)})).findings
    assert [f.severity for f in found if f.slug == "overfitting"] == ["info"]


def test_every_finding_that_reads_ordinary_metrics_was_checked(case):
    """The rates above are of findings that ran: losses, validation and scores."""
    seen = run_detectors(case(healthy(np.random.default_rng(0), 400, 20, "white")))
    ran = all_detectors().keys() - {one.slug for one in seen.not_checked}
    assert {"loss-diverged", "loss-spike", "loss-flat", "loss-plateau", "overfitting", "eval-at-chance"} <= ran
