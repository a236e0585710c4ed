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
    assert notes[NOTHING] > 0.25


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
        ("lr-too-high", ("loss-diverged", "loss-spike"), {"rate_not_tiny": False}),
        ("lr-too-low", ("loss-flat", "loss-at-ignorance"), {"rate_not_large": False}),
        ("optimizer-not-stepping", ("loss-flat", "eval-frozen"), {"nothing_learned": False}),
        ("too-little-data", ("overfitting",), {"training_fits": False}),
        ("target-leak", ("overfitting", "loss-too-good"), {"training_fits": False}),
        ("too-little-data", ("return-flat",), {"fixed_data": False}),
        ("lr-too-low", ("return-collapsed",), {"nothing_lost": False}),
        ("optimizer-not-stepping", ("return-collapsed", "return-flat"), {"nothing_lost": False}),
        ("labels-misaligned", ("loss-diverged",), {"nothing_lost": False}),
    ],
)
def test_a_cause_that_a_fact_excludes_is_never_named(excluded, findings, known):
    assert excluded not in probabilities(found(*findings), (), around(**known), {})


def test_an_event_is_not_named_where_nothing_happened():
    quiet = probabilities([], (), around(begins=""), {"sign:no-gap": True, "sign:jumps": False})
    assert not {"bad-batch", "data-shift", "resume-bug"} & set(quiet)
    assert "data-shift" in probabilities([], (), around(begins=""), {"sign:jumps": True})


def test_a_cause_that_leaves_curves_healthy_needs_evidence_of_its_own():
    slow, odd = {"sign:slower": True, "sign:no-gap": True}, {"sign:no-gap": True}
    assert "dataloader-bottleneck" in probabilities([], (), around(times=True), slow)
    assert "dataloader-bottleneck" not in probabilities(found("loss-flat"), (), around(times=True), odd)


def test_a_slow_machine_is_not_why_a_model_overfits(case):
    rng = np.random.default_rng(0)
    rise = np.minimum(1, np.arange(400) / 80)
    report = report_on(
        case(
            {
                "train/accuracy": 0.1 + 0.9 * rise,
                "val/accuracy": (np.arange(0, 400, 16), (0.1 + 0.5 * rise + 0.005 * rng.normal(size=400))[::16]),
                "train/step_time_ms": np.where(np.arange(400) < 300, 450.0, 1600.0) * (1 + 0.02 * rng.normal(size=400)),
            }
        )
    )
    leads = {report.findings[one.findings[0]].slug: one for one in report.incidents}
    assert set(leads) == {"overfitting", "throughput-drop"}
    assert 150 < leads["overfitting"].first_step < 250  # since when it has not improved, not its highest point
    assert not {"contention", "dataloader-bottleneck"} & {cause.slug for cause in leads["overfitting"].causes}
    assert leads["throughput-drop"].causes[0].slug in ("contention", "dataloader-bottleneck")


def test_without_findings_no_cause_is_held_against_its_time():
    signs = {"sign:return-drops": True}
    unknown = probabilities([], (), around(begins=""), signs)
    assert unknown["data-shift"] > 2 * probabilities([], (), around(begins="start"), signs)["data-shift"]


def test_what_follows_a_nan_says_nothing_about_its_cause():
    nan = [Finding("loss-nan", "critical", "loss", 200, 400, "…")]
    after = [Finding("return-collapsed", "critical", "return", 0, 400, "…"), *found("value-diverged", step=220)]
    signs = {"sign:calm-before-nan": True}
    known = around(begins="middle")
    alone = probabilities(nan, (), known, signs)
    assert probabilities([*nan, *after], (), known, {**signs, "sign:return-drops": False}) != alone
    assert probabilities([*nan, *after], (), known, {**signs, "sign:accuracy-fell": True}) == alone
    assert alone["bad-batch"] > 2 * alone["lr-too-high"]


def test_a_diagnosis_of_a_nan_begins_where_the_nan_does(case):
    made = case({"train/loss": np.linspace(2, 1, 100)})
    findings = [Finding("loss-nan", "critical", "train/loss", 60, 99, "…"), *found("eval-at-chance", step=0)]
    assert CauseConditions.of(made, findings).begins == "middle"
    assert CauseConditions.of(made, ()).begins == ""


def test_while_there_are_only_notes_a_cause_without_support_is_not_named():
    assert rank_causes([], (), around(), {"sign:no-gap": False})[0] == ()
    causes, _ = rank_causes([], (), around(decays=True), {"sign:decay-large": True})
    assert causes[0].slug == "weight-decay-too-high"


def test_training_that_gets_better_moves_the_weights(case):
    better = case({"train/loss": 2.3 - 1.2 * np.arange(60) / 60, "val/loss": np.full(60, 2.3)})
    assert CauseConditions.of(better, ()).nothing_learned is False
    scored = case({"train/loss": np.full(60, 2.3), "train/accuracy": np.linspace(0.1, 0.6, 60)})
    assert CauseConditions.of(scored, ()).nothing_learned is False
    still = case({"train/loss": 2.3 + 0.01 * np.random.default_rng(0).normal(size=60)})
    assert CauseConditions.of(still, ()).nothing_learned is None


def test_a_policy_makes_its_own_data_and_a_flat_loss_memorizes_nothing(case):
    policy = case({"rollout/ep_rew_mean": np.linspace(1, 9, 60), "train/value_loss": np.linspace(9, 1, 60)})
    assert CauseConditions.of(policy, ()).fixed_data is False
    flat = case({"train/loss": np.full(60, 2.3), "val/loss": np.linspace(2.3, 4, 60)})
    assert CauseConditions.of(flat, ()).training_fits is False
    unevaluated = case({"train/loss": np.linspace(2.3, 0.1, 60)})
    assert CauseConditions.of(unevaluated, ()).training_fits is False
    assert CauseConditions.of(unevaluated, found("loss-too-good")).training_fits is True


def test_causes_that_look_the_same_share_their_signs():
    assert all_causes()["detached-graph"].brings["sign:lr-ordinary"] > 0.5
    assert "sign:lr-ordinary" not in all_causes()["memory-leak"].brings


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


WOBBLE = 0.03 * np.random.default_rng(1).normal(size=60)


def fall(end, share=0.2, n=60):
    """A training loss that learns most at first."""
    return end + (2.3 - end) * np.exp(-np.arange(n) / (share * n)) + 0.01 * np.random.default_rng(0).normal(size=n)


def evaluated(train, val):
    return {"train/loss": train, "val/loss": (np.arange(len(val)) * (len(train) // len(val)), np.array(val))}


@pytest.mark.parametrize(
    ("train", "val", "cause"),
    [
        (fall(0.7), [30, 90, 140, 160, 170, 165, 160, 165, 170, 168], "eval-bug"),
        (fall(0.7), [2.3, 3.6, 4.4, 4.8, 5.0, 5.1, 5.2, 5.2, 5.3, 5.3], "eval-bug"),
        (fall(0.01), [2.2, 1.7, 1.6, 1.8, 2.1, 2.4, 2.7, 2.9, 3.1, 3.3], "too-little-data"),
        (
            np.linspace(2.3, 1.1, 60) + WOBBLE,
            [2.31, 2.32, 2.36, 2.41, 2.45, 2.5, 2.58, 2.65, 2.7, 2.8],
            "labels-misaligned",
        ),
        (fall(0.3), [2.0, *[1.6180339] * 14], "eval-bug"),
    ],
    ids=["other scale", "other inputs", "few examples", "shuffled labels", "the same batch again"],
)
def test_what_validation_does_next_to_training_tells_why_it_is_bad(case, train, val, cause):
    report = report_on(case(evaluated(train, val)))
    assert report.incidents
    assert report.causes[0].slug == cause


def test_a_return_that_rose_and_collapsed_is_not_for_want_of_steps(case):
    rose = np.concatenate([np.linspace(-2, 4, 30), np.full(30, -3.0)]) + 0.1 * np.random.default_rng(0).normal(size=60)
    assert CauseConditions.of(case({"return": rose}), ()).nothing_lost is False
    assert CauseConditions.of(case({"return": np.sort(rose)}), ()).nothing_lost is None


def test_a_loss_that_fell_and_diverged_was_not_trained_too_slowly(case):
    made = case({"train/loss": np.concatenate([fall(0.3, n=40), np.full(20, 2.2)])})
    assert CauseConditions.of(made, found("loss-diverged", step=40)).nothing_lost is False
    assert CauseConditions.of(made, ()).nothing_lost is None


def test_of_a_loss_that_was_never_finite_nobody_knows_whether_the_data_or_the_rate_is_to_blame(case):
    report = report_on(case({"train/loss": np.full(60, np.nan)}))
    odds = {cause.slug: cause.probability for cause in report.causes}
    assert max(odds.values()) < 0.75
    assert min(odds["lr-too-high"], odds["bad-batch"]) > 0.2


def test_a_rate_that_is_a_little_above_nothing_says_nothing():
    weights = {"causes": {"label-noise": {"sign:jumps": 0.03}}, "usual": {"sign:jumps": 0.004}}
    given = (found("loss-plateau"), (), around())
    without, with_it = (
        probabilities(*given, signs, weights=weights)["label-noise"] for signs in ({}, {"sign:jumps": True})
    )
    assert with_it < 1.1 * without
