"""Published runs as others might have logged them."""

import numpy as np
import pytest
from zoo.scoring.collect import collect
from zoo.scoring.matching import Case
from zoo.scoring.wild_views import CUTS, VIEWS, seen, summary
from zoo_samples import broken, log, verdict

from pulseboard.core.series import Series


def series(tag="train/loss", n=100):
    steps = np.arange(n)
    values = 3 * np.exp(-steps / 20) + 0.1 * np.random.default_rng(0).standard_normal(n)
    return Series(tag, steps, steps.astype(float), values, np.zeros(n, bool))


def test_a_thinned_series_keeps_its_last_point():
    assert VIEWS["every 3rd point from the 2nd on"](series(n=30)).steps.tolist() == [*range(1, 30, 3), 29]


def test_a_short_series_is_not_thinned():
    assert len(VIEWS["every 2nd point"](series(n=15))) == 15


@pytest.mark.parametrize("view", sorted(CUTS))
def test_a_cut_keeps_the_first_part(view):
    cut = VIEWS[view](series())
    assert cut.steps[0] == 0
    assert len(cut) == pytest.approx(100 * int(view.split()[2]) / 100, abs=1)


def test_rounding_keeps_three_digits():
    assert VIEWS["three digits"](series()).values[0] == float(f"{series().values[0]:.3g}")


def test_noise_changes_a_loss_but_neither_its_sign_nor_a_learning_rate():
    before, after = series(), VIEWS["a little more noise"](series())
    assert (np.sign(after.values) == np.sign(before.values)).all()
    assert (after.values != before.values).mean() > 0.9
    assert (VIEWS["a little more noise"](series("lr")).values == series("lr").values).all()
    clock = Series("elapsed", before.steps, before.wall_times, before.wall_times, before.orphaned)
    assert (VIEWS["a little more noise"](clock).values == clock.values).all()


@pytest.mark.parametrize(
    ("view", "hidden", "shown"),
    [
        ("without validation", "val/loss", "train/loss"),
        ("without training", "train/loss", "val/loss"),
        ("only losses", "val/accuracy", "val/loss"),
        ("without learning rates", "optim/lr", "train/loss"),
    ],
)
def test_metrics_are_left_out(view, hidden, shown):
    assert VIEWS[view](series(hidden)) is None
    assert VIEWS[view](series(shown)) is not None


@pytest.fixture
def broken_log(tmp_path):
    """A folder with one log that ends in NaN, as a case with a verdict."""
    log(tmp_path / "logs" / "run.csv", broken(150))
    collected = collect({"wild/logs": tmp_path / "logs"}, tmp_path / "cache", jobs=1)
    (run,) = collected.runs
    return Case((run,), verdict(run.run, "nan", folder="wild/logs")), tmp_path / "logs"


def test_every_view_of_a_run_is_diagnosed(broken_log):
    case, folder = broken_log
    results = seen([case], {"wild/logs": folder}, jobs=1)
    assert set(results) == set(VIEWS)
    said = {view: [line.slug for line in runs[case.runs[0].id]] for view, runs in results.items()}
    assert "loss-nan" in said["as they are"]
    assert said["the first 40 %"] == [], "the NaN comes later"
    table = summary([case], results, details=False)
    assert "| every 2nd point | none | 100.0 % (1 of 1) | 100.0 % (1 of 1) | none |" in table


def test_a_problem_that_only_a_view_hides_is_listed(broken_log):
    case, _ = broken_log
    lost = {view: {case.runs[0].id: case.runs[0].headlines if view == "as they are" else []} for view in VIEWS}
    details = summary([case], lost, details=True)
    assert "every 2nd point                  lost" in details
    assert "the first 40 %                   lost" not in details
