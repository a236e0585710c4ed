"""What histograms tell: weights that stand still, layers out of balance, two humps."""

import numpy as np
import pytest

from pulseboard.core.values import Histogram
from pulseboard.diagnose.detector import all_detectors, run_detectors
from pulseboard.diagnose.histograms import humps, root_mean_square, same


def histogram(values, step=0):
    counts, edges = np.histogram(values, bins=30)
    return Histogram(step=step, wall_time=0.0, lefts=edges[:-1], rights=edges[1:], counts=counts.astype(np.float64))


def bell(width=1.0, seed=0):
    return np.random.default_rng(seed).normal(size=5000) * width


def found(case, slug, histograms):
    seen = run_detectors(case({}, histograms=histograms), [all_detectors()[slug]])
    return seen.findings


def test_the_size_of_a_histogram_is_that_of_its_values():
    assert root_mean_square(histogram(bell(0.3))) == pytest.approx(0.3, rel=0.05)


def test_a_bell_has_one_hump_and_two_bells_have_two():
    assert humps(histogram(bell())) == 1
    assert humps(histogram(np.concatenate([bell(0.2) - 2, bell(0.2) + 2]))) == 2


def test_weights_whose_histograms_never_change_are_frozen(case):
    still = {f"Parameters/{name}": [histogram(bell(seed=1), step) for step in (0, 10, 20)] for name in ("a", "b")}
    (finding,) = found(case, "weights-frozen", still)
    assert finding.severity == "critical"
    assert same(still["Parameters/a"][0], still["Parameters/a"][2])


def test_weights_that_move_are_left_alone(case):
    moving = {"Parameters/a": [histogram(bell(seed=step), step) for step in (0, 10, 20)]}
    assert found(case, "weights-frozen", moving) == []


def test_layers_a_thousand_times_apart_are_out_of_balance(case):
    def layers(ratio):
        return {
            "Gradients/first.weight": [histogram(bell(1.0, step), step) for step in range(3)],
            "Gradients/last.weight": [histogram(bell(ratio, step), step) for step in range(3)],
        }

    assert [f.slug for f in found(case, "gradient-imbalance", layers(1e-4))] == ["gradient-imbalance"]
    assert found(case, "gradient-imbalance", layers(1e-2)) == []


def test_a_bell_that_comes_apart_is_found(case):
    apart = np.concatenate([bell(0.2) - 2, bell(0.2) + 2])
    coming = {"Parameters/a": [histogram(bell(), 0), histogram(apart, 10), histogram(apart, 20)]}
    assert [f.severity for f in found(case, "out-of-expected-range", coming)] == ["info"]
    always = {"Parameters/a": [histogram(apart, step) for step in (0, 10, 20)]}
    assert found(case, "out-of-expected-range", always) == []


def in_tensorboards_buckets(values):
    positive = 1e-12 * 1.1 ** np.arange(400)
    counts, edges = np.histogram(values, bins=np.concatenate([-positive[::-1], [0.0], positive]))
    used = np.flatnonzero(counts)
    part = slice(used[0], used[-1] + 1)
    counts, lefts, rights = counts[part].astype(np.float64), edges[:-1][part], edges[1:][part]
    return Histogram(step=0, wall_time=0.0, lefts=lefts, rights=rights, counts=counts)


@pytest.mark.parametrize("size", [100, 300, 1000])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1000.0])
def test_a_few_values_of_one_bell_are_not_two_humps(size, scale):
    for seed in range(20):
        random = np.random.default_rng(seed)
        assert humps(in_tensorboards_buckets(random.normal(0, scale, size))) == 1
        assert humps(in_tensorboards_buckets(random.uniform(-scale, scale, size))) == 1
        apart = np.concatenate([random.normal(-3, 0.5, size // 2), random.normal(3, 0.5, size // 2)])
        assert humps(in_tensorboards_buckets(scale * apart)) == 2
