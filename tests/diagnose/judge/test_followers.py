"""What follows from another finding becomes info, and what came before it is not."""

from pulseboard.core.finding import Finding
from pulseboard.diagnose.judge.followers import followers_below


def finding(slug, severity, first, *, metric="train/loss"):
    return Finding(slug, severity, metric, first, 1000, f"{slug} is there.")


def severities(case, *findings):
    return {f.slug: f.severity for f in followers_below(findings, case)}


def test_what_a_collapse_brings_is_info_and_says_so(case):
    case = case({"train/loss": [1.0] * 1001})
    found = followers_below(
        [finding("gradient-exploding", "critical", 520), finding("representation-collapse", "critical", 500)], case
    )
    assert [(f.slug, f.severity) for f in found] == [
        ("representation-collapse", "critical"),
        ("gradient-exploding", "info"),
    ]
    assert found[1].summary == "gradient-exploding is there; this follows from representation-collapse."


def test_what_was_there_well_before_stands(case):
    case = case({"train/loss": [1.0] * 1001})
    before = finding("gradient-exploding", "critical", 300)
    assert (
        severities(case, before, finding("representation-collapse", "critical", 500))["gradient-exploding"]
        == "critical"
    )


def test_a_state_of_the_whole_run_follows_from_a_later_episode(case):
    case = case({"train/loss": [1.0] * 1001})
    state = finding("prediction-poor", "warning", 0)
    assert severities(case, state, finding("representation-collapse", "critical", 500))["prediction-poor"] == "info"


def test_what_is_only_info_brings_nothing(case):
    case = case({"train/loss": [1.0] * 1001})
    state = finding("prediction-poor", "warning", 0)
    assert severities(case, state, finding("representation-collapse", "info", 500))["prediction-poor"] == "warning"


def test_some_bring_others_in_one_metric_only(case):
    case = case({"train/loss": [1.0] * 1001})
    large = finding("update-too-large", "warning", 10)
    kept = finding("gradient-scale-off", "warning", 0, metric="train/gradient_flow/left_over")
    clipped = finding("gradient-scale-off", "warning", 0, metric="train/grad_norm")
    assert severities(case, large, kept)["update-too-large"] == "info"
    assert severities(case, large, clipped)["update-too-large"] == "warning"
