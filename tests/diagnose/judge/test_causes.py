import pytest

from pulseboard.core.finding import Finding
from pulseboard.diagnose.detector import all_detectors
from pulseboard.diagnose.facts.signs import SIGNS
from pulseboard.diagnose.judge.causes import CauseConditions, all_causes, rank_causes

CAUSES = """lr-too-high lr-too-low no-warmup scheduler-bug bad-init bad-batch label-noise labels-misaligned target-leak
too-little-data data-leak data-order-bug data-shift repeated-batches frozen-weights detached-graph
optimizer-not-stepping zero-grad-missing accumulation-unscaled dead-relu clip-too-tight no-clipping
weight-decay-too-high precision-underflow precision-overflow no-stop-gradient ema-momentum-too-high
ema-momentum-too-low masking-bug loss-weights-wrong missing-aux-loss router-collapse capacity-too-small
dataloader-bottleneck checkpoint-in-loop contention memory-leak resume-bug eval-bug rank-desync straggler
hardware-fault killed""".split()


def found(*slugs, severity="warning", step=0):
    return [Finding(slug, severity, "tag", step, 400, "…") for slug in slugs]


def around(**known):
    usual = {"plain_optimizer": False, "unclipped": None, "low_precision": False, "self_supervised": False}
    usual |= {"experts": False, "resumed": False, "ranks": False, "begins": "start"}
    return CauseConditions(**{**usual, **known})


def first(findings, absent=(), **known):
    causes, _ = rank_causes(findings, absent, around(**known))
    return causes[0].slug


def test_every_cause_of_the_catalog_is_known():
    assert sorted(all_causes()) == sorted(CAUSES)


def test_causes_speak_only_of_findings_that_exist():
    for cause in all_causes().values():
        assert {name.split("@")[0] for name in (*cause.brings, *cause.against)} <= {*all_detectors(), *SIGNS}, (
            cause.slug
        )
        assert all(0 < weight < 1 for weight in cause.brings.values()), cause.slug


@pytest.mark.parametrize(
    ("slugs", "absent", "cause"),
    [
        (("weights-exploding", "update-too-large"), ("loss-spike", "weights-shrinking"), "lr-too-high"),
        (("update-too-small", "loss-at-ignorance"), ("weights-frozen", "weights-exploding"), "lr-too-low"),
        (("weights-frozen", "loss-flat", "loss-at-ignorance"), ("update-too-small",), "optimizer-not-stepping"),
        (("weights-shrinking",), ("weights-exploding",), "weight-decay-too-high"),
        (("initial-loss-off",), ("weights-exploding",), "bad-init"),
        (("loss-at-marginal",), ("update-too-small", "gradient-zeros"), "labels-misaligned"),
        (("overfitting",), ("batches-repeated", "loss-too-good"), "too-little-data"),
        (("batches-repeated", "overfitting"), (), "repeated-batches"),
        (("data-stall",), ("rank-straggler",), "dataloader-bottleneck"),
        (("memory-growth",), (), "memory-leak"),
        (("lr-jump",), (), "scheduler-bug"),
    ],
)
def test_findings_lead_to_their_cause(slugs, absent, cause):
    assert first(found(*slugs), absent) == cause


def test_a_cause_that_cannot_be_here_is_not_named():
    causes, _ = rank_causes(found("representation-collapse"), (), around(self_supervised=False))
    assert "no-stop-gradient" not in [cause.slug for cause in causes]
    assert first(found("representation-collapse", "target-gradient"), self_supervised=True) == "no-stop-gradient"


def test_a_change_in_mid_run_is_not_blamed_on_what_was_so_from_the_start():
    assert first(found("loss-level-shift", "data-shift", step=200), begins="middle") == "data-shift"


def test_what_could_not_be_seen_counts_neither_way():
    unseen, _ = rank_causes(found("loss-plateau", "update-too-large"), (), around())
    absent, _ = rank_causes(found("loss-plateau", "update-too-large"), ("weights-exploding", "loss-diverged"), around())
    odds = {cause.slug: cause.probability for cause in unseen}
    assert odds["lr-too-high"] > {c.slug: c.probability for c in absent}.get("lr-too-high", 0)


def test_mere_remarks_convict_nobody():
    causes, _ = rank_causes(found("loss-plateau", "clipping-excess", severity="info"), (), around())
    assert all(cause.probability < 0.5 for cause in causes)


def test_an_unclear_case_says_so_and_names_a_check():
    causes, check = rank_causes(found("loss-spike"), (), around())
    assert causes[0].probability < 0.5
    assert "unclear between" in check.why
    assert check.do


def test_probabilities_are_probabilities_and_come_sorted():
    causes, _ = rank_causes(found("loss-nan", "gradient-nan", "loss-spike", severity="critical"), (), around())
    assert 1 <= len(causes) <= 3
    odds = [cause.probability for cause in causes]
    assert odds == sorted(odds, reverse=True)
    assert all(0 <= p <= 1 for p in odds)
