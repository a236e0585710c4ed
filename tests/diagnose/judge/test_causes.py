import numpy as np
import pytest

from pulseboard.core.finding import Finding
from pulseboard.diagnose.detector import all_detectors
from pulseboard.diagnose.diagnosis import report_on
from pulseboard.diagnose.facts.signs.sign import all_signs
from pulseboard.diagnose.judge.causes import all_causes
from pulseboard.diagnose.judge.conditions import CauseConditions
from pulseboard.diagnose.judge.ranking import NOTHING, probabilities, rank_causes

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
        assert {name.split("@")[0] for name in (*cause.brings, *cause.against)} <= {*all_detectors(), *all_signs()}, (
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


def test_an_unclear_case_says_so_and_names_the_check_of_its_first_cause():
    causes, check = rank_causes(found("loss-spike"), (), around())
    assert causes[0].probability < 0.5
    assert f"unclear between {causes[0].slug}" in check.why
    assert check.do == all_causes()[causes[0].slug].check


@pytest.mark.parametrize("slug", ["overfitting", "loss-nan", "loss-flat", "lr-jump", "data-stall", "loss-diverged"])
def test_the_next_check_is_about_the_first_cause(slug):
    causes, check = rank_causes(found(slug), (), around(times=True))
    assert check.do == all_causes()[causes[0].slug].check


def test_probabilities_come_sorted_and_sum_to_no_more_than_one():
    causes, _ = rank_causes(found("loss-nan", "gradient-nan", "loss-spike", severity="critical"), (), around())
    assert 1 <= len(causes) <= 3
    odds = [cause.probability for cause in causes]
    assert odds == sorted(odds, reverse=True)
    assert sum(odds) <= 1.001


def test_all_probabilities_sum_to_one_and_with_notes_only_nothing_may_be_wrong():
    certain = probabilities(found("loss-flat"), (), around(), {})
    assert sum(certain.values()) == pytest.approx(1)
    assert NOTHING not in certain
    notes = probabilities(found("eval-noisy", severity="info"), (), around(), {})
    assert sum(notes.values()) == pytest.approx(1)
    assert notes[NOTHING] > 0.3


def test_causes_that_curves_cannot_tell_apart_are_one_answer():
    causes, _ = rank_causes(found("overfitting"), ("loss-too-good",), around())
    assert causes[0].slug == "too-little-data"
    assert causes[0].alike == ("repeated-batches",)
    assert "repeated-batches" not in [cause.slug for cause in causes]
    single = probabilities(found("overfitting"), ("loss-too-good",), around(), {})
    assert causes[0].probability == pytest.approx(single["too-little-data"] + single["repeated-batches"], abs=1e-3)


@pytest.mark.parametrize(
    ("excluded", "findings", "known"),
    [
        ("precision-underflow", ("gradient-zeros", "loss-plateau"), {"low_precision": None}),
        ("precision-overflow", ("loss-nan", "gradient-nan"), {"low_precision": None}),
        ("dead-relu", ("gradient-zeros", "dead-units"), {"relu": False}),
        ("optimizer-not-stepping", ("lr-zero", "loss-flat", "loss-at-ignorance"), {"rate_not_zero": False}),
        ("lr-too-low", ("lr-zero", "loss-flat", "loss-at-ignorance"), {"rate_not_zero": False}),
        ("router-collapse", ("gradient-zeros",), {"experts": False}),
        ("dataloader-bottleneck", ("loss-flat",), {"times": False}),
        ("no-warmup", ("loss-diverged", "gradient-spike"), {"no_warmup": False}),
        ("weight-decay-too-high", ("loss-flat", "weights-shrinking"), {"decays": False}),
        ("zero-grad-missing", ("loss-diverged",), {"gradients": False}),
    ],
)
def test_a_cause_that_a_fact_excludes_is_never_named(excluded, findings, known):
    assert excluded not in probabilities(found(*findings), (), around(**known), {})


def test_a_rate_that_is_logged_as_zero_is_a_schedule(case):
    curves = {"train/loss": np.full(60, 2.3) + 0.01 * np.random.default_rng(0).normal(size=60), "lr": np.zeros(60)}
    made = case(curves)
    assert CauseConditions.of(made, ()).rate_not_zero is False
    report = report_on(made)
    assert report.causes[0].slug == "scheduler-bug"


def test_conditions_come_from_what_is_logged_and_configured(case):
    rates = np.concatenate([np.linspace(0.0, 1e-3, 10), np.full(90, 1e-3)])
    made = case({"train/loss": np.linspace(2, 1, 100), "lr": rates}, config={"activation": "gelu", "weight_decay": 0.0})
    conditions = CauseConditions.of(made, ())
    assert (conditions.relu, conditions.decays, conditions.no_warmup) == (False, False, False)
    assert (conditions.times, conditions.memory, conditions.gradients, conditions.evaluated) == (False,) * 4
    bare = CauseConditions.of(case({"train/loss": np.linspace(2, 1, 100), "lr": np.full(100, 1e-3)}), ())
    assert (bare.relu, bare.decays, bare.no_warmup, bare.rate_not_zero) == (None, None, True, True)


def test_a_sign_counts_in_both_directions():
    weights = {
        "causes": {"lr-too-high": {"sign:lr-large": 0.9}, "label-noise": {"sign:lr-large": 0.05}},
        "usual": {"sign:lr-large": 0.3},
    }
    given = (found("loss-plateau"), (), around())
    yes, unknown, no = (
        probabilities(*given, signs, weights=weights)
        for signs in ({"sign:lr-large": True}, {}, {"sign:lr-large": False})
    )
    assert yes["lr-too-high"] > unknown["lr-too-high"] > no["lr-too-high"]
    assert yes["label-noise"] < unknown["label-noise"] < no["label-noise"]


def test_a_cause_names_the_signs_that_support_it():
    signs = {"sign:decay-large": True}
    causes, _ = rank_causes(found("loss-flat"), (), around(decays=True), signs)
    named = {cause.slug: cause for cause in causes}
    assert all_signs()["sign:decay-large"].phrase in named["weight-decay-too-high"].signs
