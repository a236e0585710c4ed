"""Scorecards of synthetic runs: one that obeys its guide, and one for every rule that it can break."""

import numpy as np
import pytest
from guided_runs import DONE, GOOD_RUNS, N, broken, every, flat, metric, through

from pulseboard.diagnose.profile import load_profile, shipped
from pulseboard.diagnose.scorecard.histogram_measures import HISTOGRAM_MEASURES
from pulseboard.diagnose.scorecard.measures import MEASURES


@pytest.mark.parametrize("profile", GOOD_RUNS)
def test_a_run_that_obeys_its_guide_breaks_no_rule(card, profile):
    good = card(profile, findings=None)
    assert [(row.tag, row.verdict) for row in good.metrics if row.grade not in (None, "ok")] == []
    assert broken(good) == set()
    assert [row.question for row in good.flow if row.applies == "yes"] == []
    assert [row.name for row in good.patterns if row.matches] == []
    assert {cell.verdict for row in good.stages for cell in row.cells} <= {"inside", "not logged"}
    assert [row.category for row in good.cadence if row.verdict == "less often"] == []
    assert good.status == "ok"


# ---- each metric with the document's verdict words

COLLAPSE = "train/collapse/level1_"
VERDICTS = [
    ("hjepa", COLLAPSE + "mean_std_per_dim", 0.2, "HEALTHY", "ok"),
    ("hjepa", COLLAPSE + "mean_std_per_dim", 0.03, "WARNING", "warning"),
    ("hjepa", COLLAPSE + "mean_std_per_dim", 0.015, "between WARNING and COLLAPSE", "info"),
    ("hjepa", COLLAPSE + "mean_std_per_dim", 0.005, "COLLAPSE", "critical"),
    ("hjepa", COLLAPSE + "min_std_per_dim", 0.003, "WARNING", "warning"),
    ("hjepa", COLLAPSE + "min_std_per_dim", 0.0005, "COLLAPSE", "critical"),
    ("hjepa", COLLAPSE + "effective_rank", 300, "WARNING", "warning"),
    ("hjepa", COLLAPSE + "effective_rank", 150, "COLLAPSE", "critical"),
    ("hjepa", COLLAPSE + "mean_similarity", 0.5, "WARNING", "warning"),
    ("hjepa", COLLAPSE + "mean_similarity", 0.8, "COLLAPSE", "critical"),
    ("hjepa", "train/ema/weight_magnitude_ratio", 0.7, "WARNING", "warning"),
    ("hjepa", "train/ema/weight_magnitude_ratio", 1.3, "WARNING", "warning"),
    ("hjepa", "train/masking/mask_ratio", 0.8, "WARNING", "warning"),
    ("hjepa", "train/loss/contribution_h0", 40, "not HEALTHY", "info"),
    ("hjepa", "train/prediction/level1_cosine_sim_std", 0.05, "not HEALTHY", "info"),
    ("hjepa", "train/gradient/clipping_percentage", 60, "WARNING", "warning"),
    ("hjepa", "train/gradient/clipping_percentage", 30, "between HEALTHY and WARNING", "info"),
    ("hjepa", "train/gradient_flow/global_norm", 20, "WARNING", "warning"),
    ("hjepa", "train/stability/loss_smoothness", 2, "WARNING", "warning"),
    ("hjepa", "train/stability/loss_spike_ratio", 1.8, "WARNING", "warning"),
    ("hjepa", "train/stability/val_train_loss_ratio", 1.2, "WARNING", "warning"),
    ("hjepa", "train/performance/forward_backward_ratio", 2.5, "WARNING", "warning"),
    ("hjepa", "train/performance/forward_backward_ratio", 0.2, "WARNING", "warning"),
    ("hjepa", "train/performance/gpu_memory_allocated_gb", 45, "WARNING", "warning"),
    ("hjepa", "train/performance/samples_per_second", 20, "not HEALTHY", "info"),
    ("moe", "moe/aux_loss", 0.5, "between Healthy and Warning sign", "info"),
    ("moe", "moe/aux_loss", 1.5, "Warning sign", "critical"),
    ("moe", "moe/z_loss", 0.2, "Watch", "warning"),
    ("moe", "moe/expert_utilization", 0.65, "Watch", "warning"),
    ("moe", "moe/expert_utilization", 0.4, "Warning sign", "critical"),
    ("moe", "moe/load_imbalance", 2.7, "Watch", "warning"),
    ("moe", "moe/load_imbalance", 3.5, "Warning sign", "critical"),
    ("moe", "sol/percentage", 55, "Watch", "warning"),
    ("gpt", "Gradient/norm", 0.1, "not Healthy", "info"),
]


@pytest.mark.parametrize(("profile", "tag", "value", "verdict", "grade"), VERDICTS)
def test_a_metric_gets_the_verdict_that_the_guide_has_for_its_value(card, profile, tag, value, verdict, grade):
    row = metric(card(profile, {tag: flat(value)}), tag)
    assert (row.value, row.verdict, row.grade) == (pytest.approx(value), verdict, grade)


def test_a_verdict_that_is_not_good_comes_with_the_warning_signs_of_the_guide(card):
    tag = "train/ema/weight_magnitude_ratio"
    assert metric(card("hjepa", {tag: flat(0.7)}), tag).signs == ("below 0.8 or above 1.2: check the learning rate",)
    assert metric(card("hjepa"), tag).signs == ()


@pytest.mark.parametrize(
    ("tag", "value", "verdict"),
    [
        ("train/ema/momentum_current", 0.996, "HEALTHY"),
        ("train/ema/momentum_current", 0.9959, "not HEALTHY"),
        ("train/masking/mask_ratio", 0.7, "HEALTHY"),
        ("train/masking/mask_ratio", 0.4, "HEALTHY"),
    ],
)
def test_a_value_at_the_limit_is_at_the_limit_though_event_files_have_float32(card, tag, value, verdict):
    row = metric(card("hjepa", {tag: flat(np.float32(value))}, config={"max_steps": 100 * N}), tag)
    assert (row.value, row.verdict) == (value, verdict)


def test_a_question_without_a_limit_is_answered_by_the_value(card):
    (answer,) = [one for one in card("hjepa").checks if one.tag == "train/prediction/level0_cosine_sim_max"]
    assert (answer.reply, answer.grade, answer.bad) == ("measured", None, False)
    assert answer.value == pytest.approx(0.95 - 0.3)


def test_a_level_that_converges_slowest_is_not_the_fastest_when_all_losses_rise(card):
    rates = {f"train/convergence/rate_h{i}": flat(rate) for i, rate in enumerate((-0.03, -0.02, -0.01))}
    assert ("train/convergence/rate_h0", "difference of means") in broken(card("hjepa", rates))
    faster = {f"train/convergence/rate_h{i}": flat(rate) for i, rate in enumerate((-0.01, -0.02, -0.03))}
    assert ("train/convergence/rate_h0", "difference of means") not in broken(card("hjepa", faster))


def test_the_size_of_the_gpu_may_come_from_telemetry(card):
    changes = {"memory/vram_peak_gb": flat(23.8), "memory/vram_total_gb": flat(24)}
    made = card("diffusion", changes, config={"gpu_memory_gb": None}, findings=None)
    assert ("memory/vram_peak_gb", "share of gpu") in broken(made)
    (pattern,) = [row for row in made.patterns if row.name == "Peak memory near the limit"]
    assert any(reason.startswith("oom-risk:") for reason in pattern.because)
    unknown = card("diffusion", {"memory/vram_peak_gb": flat(23.8)}, config={"gpu_memory_gb": None})
    assert ("memory/vram_peak_gb", "share of gpu") not in broken(unknown)


def test_limits_of_768_dimensions_are_scaled_to_the_run(card):
    tag = COLLAPSE + "effective_rank"
    row = metric(card("hjepa", {tag: flat(45)}, config={"embedding_dim": 64}), tag)
    assert row.verdict == "HEALTHY"
    assert row.limits[0] == "HEALTHY above 41.67"
    assert "scaled to the 64" in row.notes[0]


# ---- rules beyond ranges: what to change, and which checks it breaks

half = DONE > 0.5
BREAKS = [
    ("hjepa", {"train/loss/total": through((0, 1), (0.5, 0.2), (1, 0.5))}, ("train/loss/total", "rise")),
    ("hjepa", {"train/loss/h1": np.where(half, np.nan, 0.5)}, ("train/loss/h1", "not finite")),
    ("hjepa", {"train/convergence/rate_h2": flat(0.03)}, ("train/convergence/rate_h0", "difference of means")),
    ("hjepa", {"train/loss/contribution_h2": flat(1)}, ("train/loss/contribution_h2", "against weights")),
    ("hjepa", {"train/ema/momentum_current": every(50, flat(0.996))}, ("train/ema/momentum_current", "change")),
    (
        "hjepa",
        {"train/ema/avg_parameter_divergence": every(50, through((0, 0.01), (0.2, 0.01), (1, 0.2)))},
        ("train/ema/avg_parameter_divergence", "growth"),
    ),
    ("hjepa", {"train/masking/mask_ratio": every(10, 0.5 + 0.3 * half)}, ("train/masking/mask_ratio", "wandering")),
    (
        "hjepa",
        {"train/prediction/level0_cosine_sim_mean": every(10, flat(0.3))},
        ("train/prediction/level0_cosine_sim_mean", "lead"),
    ),
    ("hjepa", {"train/gradient/clipping_percentage": flat(0)}, ("train/gradient/clipping_percentage", "latest")),
    (
        "hjepa",
        {"train/gradient_flow/global_norm": through((0, 0.2), (1, 8))},
        ("train/gradient_flow/global_norm", "growth"),
    ),
    (
        "hjepa",
        {"train/gradient/global_norm_before_clip": flat(20)},
        ("train/gradient/global_norm_before_clip", "latest"),
    ),
    (
        "hjepa",
        {"train/gradient_flow/context_encoder_mean": flat(1e-4)},
        ("train/gradient_flow/context_encoder_mean", "ratio"),
    ),
    (
        "hjepa",
        {"train/gradient_flow/target_encoder_mean": flat(1e-3)},
        ("train/gradient_flow/target_encoder_mean", "highest"),
    ),
    ("hjepa", {"train/learning_rate/base_lr": np.where(half, 1e-5, 1e-3)}, ("train/learning_rate/base_lr", "jump")),
    ("hjepa", {"train/hierarchy/level2_feat_std": flat(0.01)}, ("train/hierarchy/level2_feat_std", "spread")),
    ("hjepa", {"train/hierarchy/level0_feat_norm": flat(270)}, ("train/hierarchy/level1_feat_norm", "spread")),
    ("hjepa", {"train/hierarchy/level2_num_patches": flat(400)}, ("train/hierarchy/level0_num_patches", "lead")),
    ("hjepa", {"train/stability/loss_trend_slope": flat(0.01)}, ("train/stability/loss_trend_slope", "latest")),
    (
        "hjepa",
        {"train/performance/samples_per_second": flat(5)},
        ("train/performance/samples_per_second", "latest"),
    ),
    ("gpt", {"Loss/train": flat(10.5)}, ("Loss/train", "change")),
    ("gpt", {"Loss/train": np.where(half, np.nan, 4.0)}, ("Loss/train", "not finite")),
    ("gpt", {"Loss/validation": every(10, flat(5))}, ("Loss/validation", "ratio")),
    (
        "gpt",
        {"Loss/validation": every(10, through((0, 10), (0.5, 3.1), (1, 3.35)))},
        ("Loss/validation", "rise while other falls"),
    ),
    ("gpt", {"Learning_Rate/lr": np.where(half, 1e-4, 1e-3)}, ("Learning_Rate/lr", "jump")),
    ("gpt", {"Gradient/norm": flat(1.0)}, ("Gradient/norm", "share at")),
    ("gpt", {"Gradient/norm": np.where(np.arange(N) == 700, 5.0, 0.5)}, ("Gradient/norm", "spike")),
    (
        "gpt",
        {"Performance/tokens_per_sec": np.where(half, 4e4, 1e5)},
        ("Performance/tokens_per_sec", "share of usual"),
    ),
    (
        "gpt",
        {"Evaluation/hellaswag_accuracy": every(10, flat(0.25))},
        ("Evaluation/hellaswag_accuracy", "change"),
    ),
    ("visualization", {"train/loss": flat(4.2)}, ("train/loss", "change")),
    ("visualization", {"train/loss": np.where(half, np.inf, 4.0)}, ("train/loss", "not finite")),
    ("visualization", {"train/loss": np.where(np.arange(N) == 600, 9.0, 2.0)}, ("train/loss", "spike")),
    (
        "visualization",
        {"eval/val_loss": every(10, through((0, 4.2), (0.6, 1.9), (1, 2.2)))},
        ("eval/val_loss", "rise while other falls"),
    ),
    (
        "visualization",
        {"eval/val_loss": every(10, through((0, 4.2), (0.6, 1.7), (1, 1.7)))},
        ("eval/val_loss", "stop while other falls"),
    ),
    ("visualization", {"eval/val_loss": every(10, flat(3))}, ("eval/val_loss", "ratio")),
    ("moe", {"train/loss": flat(10)}, ("train/loss", "change")),
    ("moe", {"train/loss": through((0, 10), (0.5, 3), (1, 6))}, ("train/loss", "rise")),
    ("moe", {"train/norm": np.where(np.arange(N) == 500, 3.0, 0.3)}, ("train/norm", "spike")),
    ("moe", {"gpu/0/temperature": every(10, flat(84))}, ("gpu/0/temperature", "difference")),
    ("diffusion", {"train/loss": flat(1)}, ("train/loss", "change")),
    ("diffusion", {"train/loss": np.where(np.arange(N) == 500, 9.0, 0.4)}, ("train/loss", "spike")),
    ("diffusion", {"train/loss": np.where(half, np.nan, 0.4)}, ("train/loss", "not finite")),
    ("diffusion", {"train/loss": through((0, 1.1), (0.03, 0.01), (1, 0.01))}, ("train/loss", "near zero after")),
    (
        "diffusion",
        {"validation/loss": every(50, through((0, 1.1), (0.5, 0.3), (1, 0.5)))},
        ("validation/loss", "rise while other falls"),
    ),
    (
        "diffusion",
        {"eval/validation/loss_quantile_0.9": every(50, flat(1.5) + 0.1 * DONE)},
        ("eval/validation/loss_quantile_0.9", "change"),
    ),
    ("diffusion", {"train/total_param_norm": through((0, 50), (1, 500))}, ("train/total_param_norm", "growth")),
    ("diffusion", {"memory/vram_allocated_gb": through((0, 4), (1, 12))}, ("memory/vram_allocated_gb", "growth")),
    ("diffusion", {"memory/vram_reserved_gb": flat(5)}, ("memory/vram_reserved_gb", "difference")),
    ("diffusion", {"memory/vram_peak_gb": flat(23.8)}, ("memory/vram_peak_gb", "share of gpu")),
]


@pytest.mark.parametrize(("profile", "changes", "check"), BREAKS, ids=[f"{p}-{c[0]}-{c[1]}" for p, _, c in BREAKS])
def test_a_broken_rule_is_named_with_its_tag_and_what_follows(card, profile, changes, check):
    broke = card(profile, changes)
    assert check in broken(broke)
    (answer,) = [one for one in broke.checks if (one.tag, one.measure) == check and one.bad]
    assert answer.value is not None
    assert answer.grade in ("info", "warning", "critical")
    assert broke.status != "ok"


def test_every_scalar_check_of_the_profiles_is_broken_by_a_test():
    tested = {(profile, check[1], _general(check[0])) for profile, _, check in BREAKS}
    declared = {
        (name, one.measure, _general(one.tag))
        for name in shipped()
        for one in load_profile(name).checks
        if one.measure not in HISTOGRAM_MEASURES and one.wanted != "either"
    }
    # The loss of level 0 and level 1 are checked in the same way.
    declared -= {("hjepa", "difference of means", _general("train/convergence/rate_h1"))}
    assert {(p, m, t) for p, m, t in declared if not any((p, m) == (q, n) for q, n, _ in tested)} == set()
    assert {p for p, _, _ in declared} == set(GOOD_RUNS)


def _general(tag):
    return tag.split("/")[0]


# ---- histograms


def histogram(values, step=0):
    from pulseboard.core.histogram import Histogram

    counts, edges = np.histogram(values, bins=200)
    return Histogram(
        step=step,
        wall_time=0.0,
        lefts=edges[:-1],
        rights=edges[1:],
        counts=counts.astype(float),
        num=float(len(values)),
        sum_squares=float((np.asarray(values) ** 2).sum()),
    )


bell = np.random.default_rng(1).normal(size=20_000)
two_humps = np.concatenate([bell[:10_000] - 8, bell[10_000:] + 8])
HISTOGRAMS = [
    ("hjepa", "gradients/a_histogram", [bell, two_humps], "peaks"),
    ("hjepa", "gradients/a_histogram", [bell, np.concatenate([bell, [400.0]])], "tail"),
    ("hjepa", "gradients/a_histogram", [bell, np.where(np.arange(20_000) < 15_000, 0.0, bell)], "zeros"),
    ("gpt", "Parameters/a", [bell, bell], "unchanged"),
    ("gpt", "Parameters/a", [bell, 200 * bell], "size growth"),
    ("gpt", "Gradients/a", [bell, 1e-9 * bell], "size"),
    ("gpt", "Gradients/a", [1e-2 * bell, 1e3 * bell], "size growth"),
    ("visualization", "transformer.h.0.mlp.c_fc.weight", [bell, 1e-7 * bell], "size"),
    ("visualization", "transformer.h.0.mlp.c_fc.weight", [bell, 100 * bell], "size growth"),
    ("visualization", "transformer.h.0.mlp.c_fc.weight", [bell, two_humps], "peaks"),
    ("visualization", "transformer.h.0.mlp.c_fc.weight.grad", [bell, 1e-9 * bell], "size"),
    ("visualization", "transformer.h.0.mlp.c_fc.weight.grad", [bell, 1e3 * bell], "size growth"),
]


@pytest.mark.parametrize(("profile", "tag", "values", "measure"), HISTOGRAMS)
def test_histograms_that_the_guide_warns_of_are_found(card, profile, tag, values, measure):
    kept = [histogram(one, step) for step, one in enumerate(values)]
    assert (tag, measure) in broken(card(profile, histograms={tag: kept}))


@pytest.mark.parametrize(
    ("profile", "tag"),
    [
        ("hjepa", "gradients/a_histogram"),
        ("gpt", "Parameters/a"),
        ("gpt", "Gradients/a"),
        ("visualization", "a.weight"),
    ],
)
def test_a_bell_that_changes_a_little_breaks_no_rule(card, profile, tag):
    assert broken(card(profile, histograms={tag: [histogram(bell), histogram(1.1 * bell[:19_000])]})) == set()


# ---- footnotes


def test_a_rule_that_healthy_runs_break_says_so(card):
    row = metric(card("hjepa", {"train/gradient/clipping_percentage": flat(66)}), "train/gradient/clipping_percentage")
    assert "Healthy runs" in row.notes[0]
    assert metric(card("hjepa"), "train/gradient/clipping_percentage").notes == ()


def test_measures_are_known_by_the_profiles():
    used = {
        one.measure
        for name in shipped()
        for profile in [load_profile(name)]
        for one in (
            *profile.checks,
            *(check for step in profile.flow for check in (*step.when, *step.checks)),
            *(sign for pattern in profile.patterns for sign in pattern.signs),
        )
    }
    assert used <= {*MEASURES, *HISTOGRAM_MEASURES}
    assert {*MEASURES, *HISTOGRAM_MEASURES} - used == set()
