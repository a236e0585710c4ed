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
    """Per cent, shares, or losses: a level of 1 % must not be read as all of it because the others are in per cent."""
    (one,) = found(contributions(97, 2, 1, scale=scale), "hierarchy-imbalance")
    assert one.metric == "train/loss/contribution_h0"
    assert "97 %" in one.summary


@pytest.mark.parametrize("scale", [1.0, 0.01, 0.3])
def test_levels_with_their_configured_shares_are_fine_in_any_unit(scale):
    config = {"hierarchy_weights": [0.6, 0.3, 0.1]}
    assert not found(contributions(60, 30, 10, scale=scale), "hierarchy-imbalance", config=config)
