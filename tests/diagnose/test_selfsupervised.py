"""Findings about self-supervised trainings: which level, and not before there is evidence."""

import pytest

from pulseboard.diagnose.detector import run_detectors
from pulseboard.diagnose.tape import case_from_tapes


def found(tapes, slug, **more):
    return [finding for finding in run_detectors(case_from_tapes(tapes, **more)).findings if finding.slug == slug]


def contributions(*shares, scale=1.0):
    return {f"train/loss/contribution_h{i}": f"{scale * share:g}x60" for i, share in enumerate(shares)}


@pytest.mark.parametrize("scale", [1.0, 0.01, 0.3])
def test_the_level_that_makes_up_the_loss_is_named_in_any_unit(scale):
    """Percent, shares, or losses: a level of 1 % must not be read as all of it because the others are in percent."""
    (one,) = found(contributions(97, 2, 1, scale=scale), "hierarchy-imbalance")
    assert one.metric == "train/loss/contribution_h0"
    assert "97 %" in one.summary


@pytest.mark.parametrize("scale", [1.0, 0.01, 0.3])
def test_levels_with_their_configured_shares_are_fine_in_any_unit(scale):
    config = {"hierarchy_weights": [0.6, 0.3, 0.1]}
    assert not found(contributions(60, 30, 10, scale=scale), "hierarchy-imbalance", config=config)


def alike(points):
    """Features that draw together: more similar, and narrower by a factor of four."""
    return {
        "train/collapse/level0_mean_similarity": f"@4 0.5>0.97x{points}",
        "train/collapse/level0_mean_std_per_dim": f"@4 0.7>0.17x{points}",
    }


def lost(points):
    """Features that have lost nearly all of their spread."""
    return {"train/collapse/level0_mean_std_per_dim": f"@4 0.7*0.8x{points}"}


@pytest.mark.parametrize(("curves", "planned", "collapsed"), [
    (alike, 400, False),  # a fifth of the plan is done: features of healthy trainings spread again
    (alike, 90, True),
    (alike, None, True),
    (lost, 400, True),
])  # fmt: skip
def test_features_that_draw_together_early_have_not_collapsed(curves, planned, collapsed):
    config = {"max_steps": planned} if planned else {}
    assert bool(found(curves(20), "representation-collapse", config=config)) is collapsed


SIGNS = {
    "train/collapse/level0_mean_std_per_dim": ("@100 0.15x60~2%", "@100 0.15>0.002x60~2%"),
    "train/collapse/level0_effective_rank": ("@100 48x60~2%", "@100 48>2x60~2%"),
    "train/collapse/level0_mean_similarity": ("@100 0.2x60~0.002", "@100 0.2>0.99x60~0.002"),
}


@pytest.mark.parametrize("collapsed", [[], *[[tag] for tag in SIGNS], [*SIGNS]])
def test_the_three_signs_of_collapse_are_one_finding(collapsed):
    curves = {tag: signs[tag in collapsed] for tag, signs in SIGNS.items()}
    assert len(found(curves, "representation-collapse")) == bool(collapsed)


def test_a_run_that_goes_on_without_a_plan_gets_time():
    assert not found(alike(20), "representation-collapse", silence_secs=1)
    assert found(alike(80), "representation-collapse", silence_secs=1)


@pytest.mark.parametrize(("slowest", "stuck"), [("0.8*0.985x12~0.2%", False), ("0.8x13~0.2%", True)])
def test_a_noise_band_that_still_falls_is_not_stuck(slowest, stuck):
    bands = {f"eval/val/loss_quantile_0.{i}": "@20 0.8*0.8x12~1%" for i in range(2, 6)}
    assert bool(found({**bands, "eval/val/loss_quantile_0.1": f"@20 {slowest}"}, "quantile-stuck")) is stuck
