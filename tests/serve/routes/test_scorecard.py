"""The scorecard endpoint: a guide filled in for a run."""

import json

import numpy as np
import pytest

import pulseboard as pb
from pulseboard.serve.http.endpoint import load_endpoints
from pulseboard.serve.http.validation import validate


@pytest.fixture
def experts(tmp_path):
    directory = tmp_path / "runs"
    with pb.init(dir=directory, run_id="experts", config={"max_steps": 100}, telemetry_secs=0) as run:
        for step in range(101):
            run.log(
                {"train/loss": 5 * np.exp(-step / 50), "moe/aux_loss": 0.02, "moe/expert_utilization": 0.4}, step=step
            )
    with pb.init(dir=directory, run_id="plain", telemetry_secs=0) as run:
        for step in range(10):
            run.log({"a": 1.0}, step=step)
    return directory


def test_a_run_has_the_scorecard_of_the_profile_that_fits(serve, experts):
    server = serve(experts)
    card = server.api("scorecard?run=experts").json
    assert card == json.loads(json.dumps(pb.guide(experts, runs=["experts"])["experts"].to_dict()))
    validate(card, load_endpoints()["scorecard"]["GET"].returns, at="response")
    (row,) = [row for row in card["metrics"] if row["tag"] == "moe/expert_utilization"]
    assert (row["value"], row["verdict"]) == (pytest.approx(0.4), "Warning sign")
    assert server.api("scorecard?run=experts&profile=visualization").json["profile"] == "visualization"


def test_a_run_that_no_guide_fits_has_no_scorecard_and_unknown_profiles_are_errors(serve, experts):
    server = serve(experts)
    missing = server.api("scorecard?run=plain")
    assert (missing.status, missing.json) == (200, None)
    unknown = server.api("scorecard?run=plain&profile=/etc/passwd")
    assert (unknown.status, "Profiles:" in unknown.json["error"]["do"]) == (400, True)
    assert server.api("scorecard?run=nobody").status == 404
