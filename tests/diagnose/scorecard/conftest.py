"""Scorecards of synthetic runs."""

import pytest
from guided_runs import GOOD_RUNS

from pulseboard.diagnose.scorecard.scorecard import scorecard_of


@pytest.fixture
def card(case):
    """The scorecard of a good run of a profile, with some curves replaced; None removes one."""

    def make(profile, changes=None, *, config=None, findings=(), **more):
        curves, good_config = GOOD_RUNS[profile]()
        curves |= changes or {}
        curves = {tag: values for tag, values in curves.items() if values is not None}
        made = case(curves, config=good_config | (config or {}), profile=profile, **more)
        return scorecard_of(made, findings=findings)

    return make
