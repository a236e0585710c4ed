"""Null tests: how often each statistic alarms on series in which nothing happens, simulated and real.

The thresholds are those of the detectors. Rates are of fixed seeds, so a test fails only if a statistic changes.
"""

import csv
import math
from collections import Counter

import numpy as np
import pytest
from corpus import CORPUS, WILD

import pulseboard as pb
from pulseboard.diagnose import stats
from pulseboard.diagnose.cases import case_of, trainings
from pulseboard.diagnose.stats.band import band_of, departure
from pulseboard.diagnose.stats.course import course
from pulseboard.diagnose.stats.noise import noise_scale, persistence
from pulseboard.diagnose.stats.peers import outsiders
from pulseboard.diagnose.stats.period import period
from pulseboard.diagnose.stats.proportion import least_rate
from pulseboard.diagnose.stats.rise import rise_from_best
from pulseboard.diagnose.stats.trend import trend
from pulseboard.diagnose.track import Change, Points, Track

RUNS = 300
LEVEL_OF_NOISE = 0.03
COLORS = ("white", "memory", "tails")
SHAPES = ("flat", "falling")
LENGTHS = (16, 64, 256)


def noise(rng, n, color):
    """Independent noise, noise of which each point repeats 80 % of the one before, or noise with heavy tails."""
    white = rng.normal(size=n)
    if color == "memory":
        for i in range(1, n):
            white[i] = 0.8 * white[i - 1] + 0.6 * white[i]
    return rng.standard_t(3, size=n) / 1.7 if color == "tails" else white


def curves(n, shape, color, *, runs=RUNS):
    rng = np.random.default_rng([n, len(shape), len(color)])
    x = np.linspace(0, 1, n)
    level = np.ones(n) if shape == "flat" else 0.4 + 1.6 * np.exp(-6 * x)
    for _ in range(runs):
        yield Points(np.arange(n), level + LEVEL_OF_NOISE * noise(rng, n, color))


def rate(alarms):
    alarms = list(alarms)
    return sum(map(bool, alarms)) / len(alarms)


def test_every_statistic_has_a_null_test_here():
    """`median` is compared with NumPy's in test_median.py, the change test in the kernel's tests and below."""
    import pkgutil

    tested = {"band", "course", "median", "noise", "peers", "period", "proportion", "rise", "trend"}
    assert {module.name for module in pkgutil.iter_modules(stats.__path__)} == tested


# ---- simulated


@pytest.mark.parametrize("color", COLORS)
@pytest.mark.parametrize("n", LENGTHS)
def test_a_flat_series_has_no_trend(n, color):
    # Nominal: 0.01 and 1e-4. A short series that repeats itself looks like a trend more often.
    found = [trend(points) for points in curves(n, "flat", color)]
    for p in ("p_rising", "p_falling"):
        assert rate(getattr(one, p) < 0.01 for one in found) <= (0.08 if color == "memory" else 0.02)
        assert rate(getattr(one, p) < 1e-4 for one in found) <= (0.015 if color == "memory" else 0.0)


@pytest.mark.parametrize("color", COLORS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", LENGTHS)
def test_a_series_that_falls_or_stays_does_not_rise_from_its_best(n, shape, color):
    width = max(4, n // 8)
    found = [rise_from_best(points, width=width, least_surprise=8) for points in curves(n, shape, color)]
    assert rate(one is not None for one in found) <= 0.005


@pytest.mark.parametrize("color", ["white", "tails"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", LENGTHS)
def test_the_course_of_such_a_series_has_no_surprising_rise(n, shape, color):
    found = [course(points) for points in curves(n, shape, color)]
    assert rate(one.surprise >= 6 and one.stays_up >= 0.5 * one.rise for one in found) <= 0.01


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", LENGTHS)
def test_a_rise_of_noise_with_a_memory_is_small(n, shape):
    found = [course(points) for points in curves(n, shape, "memory")]
    assert rate(one.surprise >= 6 and one.rise > 6 * LEVEL_OF_NOISE for one in found) <= 0.005


def first_order(rng, n, phi):
    """Noise of which each point repeats a share phi of the one before; standard deviation 1."""
    noise = rng.normal(size=n)
    for i in range(1, n):
        noise[i] = phi * noise[i - 1] + math.sqrt(1 - phi**2) * noise[i]
    return noise


@pytest.mark.parametrize(
    ("n", "phi", "most"),
    # A few points with a long memory are one or two independent ones: nothing can be said of them.
    [
        (40, 0.0, 0.01),
        (40, 0.5, 0.02),
        (40, 0.8, 0.08),
        (100, 0.5, 0.01),
        (100, 0.8, 0.05),
        (400, 0.8, 0.01),
        (400, 0.9, 0.03),
    ],
)
def test_the_surprise_of_a_course_is_calibrated_for_noise_with_a_memory(n, phi, most):
    rng = np.random.default_rng([n, int(100 * phi)])
    found = [course(Points(np.arange(n), 10 + first_order(rng, n, phi))) for _ in range(RUNS)]
    assert rate(one.surprise >= 6 for one in found) <= most
    assert rate(abs(one.fall_surprise) >= 6 for one in found) <= most


@pytest.mark.parametrize(("n", "least"), [(20, 0.85), (100, 0.95), (400, 0.95)])
def test_a_large_turn_is_surprising_in_noise_with_a_memory_too(n, least):
    rng, x = np.random.default_rng(n), np.linspace(0, 1, n)
    turned = np.where(x < 0.5, 3 - 3 * x, 1.5 + 1.2 * (x - 0.5))
    found = [course(Points(np.arange(n), turned + 0.05 * first_order(rng, n, 0.7))) for _ in range(50)]
    assert rate(one.surprise >= 5 for one in found) >= least


@pytest.mark.parametrize("color", COLORS)
@pytest.mark.parametrize("shape", SHAPES)
def test_noise_has_no_period(shape, color):
    found = [period(points) for points in curves(256, shape, color)]
    assert rate(one is not None and one.strength >= 40 and one.share >= 0.25 for one in found) <= 0.03
    assert rate(one is not None and one.strength >= 40 and one.swing >= 0.3 for one in found) == 0


@pytest.mark.parametrize(("color", "low", "high"), [("white", 0.9, 1.1), ("memory", 0.35, 0.55), ("tails", 0.6, 0.9)])
def test_the_noise_of_a_flat_and_of_a_falling_series_is_the_same(color, low, high):
    for shape in SHAPES:
        typical = np.median([noise_scale(points.values) for points in curves(256, shape, color, runs=60)])
        assert low <= typical / LEVEL_OF_NOISE <= high


@pytest.mark.parametrize(("color", "low", "high"), [("white", 0.0, 0.1), ("tails", 0.0, 0.1), ("memory", 0.7, 0.9)])
@pytest.mark.parametrize("n", LENGTHS)
def test_the_memory_of_noise_is_estimated_without_bias(n, color, low, high):
    found = [persistence(points.values) for points in curves(n, "flat", color)]
    assert low <= np.median(found) <= high + 1 / n


@pytest.mark.parametrize("true_rate", [0.01, 0.2, 0.6])
def test_a_lower_bound_of_a_rate_is_rarely_above_it(true_rate):
    counts = np.random.default_rng(0).binomial(200, true_rate, size=4000)
    bounds = {count: least_rate(int(count), 200) for count in set(counts.tolist())}
    assert np.mean([bounds[count] > true_rate for count in counts.tolist()]) <= 0.003  # nominal: 0.001


@pytest.mark.parametrize("spread", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("ranks", [2, 8])
def test_equal_ranks_have_no_outsider(ranks, spread):
    rng = np.random.default_rng(ranks)
    found = [
        outsiders({rank: np.exp(spread * rng.normal(size=300)) for rank in range(ranks)}, least_effect=0.1)
        for _ in range(100)
    ]
    assert rate(found) <= 0.01


@pytest.mark.parametrize("runs", [3, 5, 10])
def test_another_run_of_the_same_kind_stays_within_the_band(runs):
    rng = np.random.default_rng(runs)
    x = np.arange(400.0)

    def curve():
        start, floor = 2 + 0.05 * rng.normal(), 0.5 + 0.01 * rng.normal()
        return x, floor + start * np.exp(-x / 80) + 0.02 * rng.normal(size=400)

    found = []
    for _ in range(60):
        band = band_of([curve() for _ in range(runs)])
        away = departure(*curve(), band, times=4, floor=0.03, from_x=10)
        found.append(away is not None and away.above and away.lasting)
    assert rate(found) <= 0.1 if runs == 3 else rate(found) <= 0.05


@pytest.mark.parametrize("color", COLORS)
@pytest.mark.parametrize("block", [1, 16])
def test_the_change_test_is_silent_on_healthy_curves(color, block):
    alarms, count = 0, 0
    for points in curves(2000, "falling", color, runs=20):
        track = Track("loss", changes=[Change(block=block)])
        track.append(points.steps, np.zeros(len(points.steps)), points.values)
        alarms += len(track.alarms(Change(block=block)))
        count += len(points.steps)
    # The budget of all detectors together is 0.2 in 10,000 points.
    assert alarms <= 1e-4 * count


# ---- real


@pytest.fixture(scope="module")
def real_curves():
    """The losses of published runs that a reader labeled healthy without doubt, after their first fifth."""
    if not (WILD.is_dir() and CORPUS.is_dir()):
        pytest.skip(f"the published logs are not here (set PULSEBOARD_WILD and PULSEBOARD_CORPUS): {WILD}, {CORPUS}")
    found = []
    for root in (WILD, CORPUS):
        with open(root / "labels.tsv", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file, delimiter="\t") if row["label"] == "healthy"]
        paths = [root / row["run"] for row in rows if row["confidence"] == "high"]
        for path in (path for path in paths if path.is_file()):
            for training in trainings(pb.read(path)):
                found += losses_of(case_of(training))
    assert sum(len(points.values) for points in found) > 10_000
    return found


def losses_of(case):
    for role in ("train.loss", "val.loss"):
        track = case.one(role)
        if track is not None and track.tag not in case.reading.maximized:
            steps, values = track.points()
            begin = len(values) // 5
            if len(values) - begin >= 32:
                yield Points(steps[begin:], values[begin:])


def stretches(curves, width):
    for steps, values in curves:
        for i in range(0, len(values) - width + 1, width):
            yield Points(steps[i : i + width], values[i : i + width])


@pytest.mark.parametrize("width", [32, 128])
def test_statistics_rarely_alarm_on_healthy_published_curves(real_curves, width):
    alarms, count = Counter(), 0
    for points in stretches(real_curves, width):
        count += 1
        rise = rise_from_best(points, width=max(4, width // 8), least_surprise=8)
        alarms["rise"] += rise is not None and rise.share >= 0.1
        way = course(points)
        alarms["course"] += way.surprise >= 6 and way.stays_up >= 0.5 * way.rise and way.rise_share >= 0.3
        line = trend(points)
        alarms["trend"] += line is not None and line.p_rising < 1e-4 and line.end - line.start > 0.1 * abs(line.start)
        rhythm = period(points)
        alarms["period"] += rhythm is not None and rhythm.strength >= 40 and rhythm.swing > 0.3 * abs(way.best)
    assert count > 100
    assert all(found <= math.ceil(0.002 * count) for found in alarms.values()), (count, alarms)


def test_the_change_test_rarely_alarms_on_healthy_published_curves(real_curves):
    alarms, count = 0, 0
    for steps, values in real_curves:
        track = Track("loss", changes=[Change()])
        track.append(steps, np.zeros(len(steps)), values)
        alarms += len(track.alarms(Change()))
        count += len(values)
    # Alarms of the test alone; `loss-spike` and its like also ask what a change cost.
    assert alarms <= 4e-4 * count
