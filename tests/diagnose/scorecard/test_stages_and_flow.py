"""Scorecards of synthetic runs: milestones, the flowchart, patterns, and how often things are logged."""

from dataclasses import replace

import numpy as np
import pytest
from guided_runs import DONE, GOOD_RUNS, every, flat, metric, through

from pulseboard.core.finding import Finding
from pulseboard.diagnose.profile import load_profile, shipped

COLLAPSE = "train/collapse/level1_"
COSINE = "train/prediction/level{}_cosine_sim_mean"
half = DONE > 0.5

# ---- stages


def test_past_stages_are_compared_with_the_value_the_run_had_then(card):
    wrong = through((0, 1.6), (0.05, 3.0), (0.15, 3.0), (0.5, 0.2), (1, 0.1))
    (row,) = [row for row in card("hjepa", {"train/loss/total": wrong}).stages if row.tag == "train/loss/total"]
    assert [(cell.when, cell.document, cell.verdict) for cell in row.cells] == [
        ("10 %", "0.5 to 1", "above"),
        ("50 %", "0.1 to 0.3", "inside"),
        ("100 %", "0.05 to 0.15", "inside"),
    ]
    assert row.cells[0].value == pytest.approx(3.0)


def test_stages_ahead_are_not_reached_and_values_now_are_compared_with_the_stage(card):
    cut = {"train/loss/total": through((0, 1.6), (1, 2.5))[:101], "train/ema/momentum_current": flat(0.998)[:101]}
    curves = dict.fromkeys(GOOD_RUNS["hjepa"]()[0]) | cut
    early = card("hjepa", curves, config={"max_steps": 1000})
    (row,) = [row for row in early.stages if row.tag == "train/loss/total"]
    assert [cell.verdict for cell in row.cells] == ["above", "not reached", "not reached"]
    assert metric(early, "train/loss/total").verdict == "above the range of this stage"
    assert metric(early, "train/loss/total").stage == "0.5 to 1"
    assert early.progress == pytest.approx(0.1)


def test_milestones_of_another_vocabulary_are_shown_but_not_held_against_the_run(card):
    curves, _ = GOOD_RUNS["gpt"]()
    small = card("gpt", {"Loss/train": 0.4 * curves["Loss/train"]}, config={"vocab_size": 100})
    (row,) = [row for row in small.stages if row.tag == "Loss/train"]
    assert {cell.verdict for cell in row.cells} == {"other model"}
    assert "50,257" in row.notes[0]
    assert metric(small, "Loss/train").grade is None


def test_milestones_by_step_are_found_at_that_step(card):
    (row,) = [row for row in card("hjepa").stages if row.tag == "train/stability/loss_smoothness"]
    assert [cell.when for cell in row.cells] == ["step 1", "step 500", "step 1,000"]
    assert [cell.value for cell in row.cells] == pytest.approx([0.5, 0.1, 0.05], rel=0.02)


def test_without_a_plan_the_last_step_of_a_finished_run_is_the_end(card):
    unplanned = card("gpt", config={"max_steps": None})
    assert unplanned.progress == 1.0


# ---- the flowchart

FLAT_LOSS = {"train/loss/total": flat(1.0)}
COLLAPSED = {COLLAPSE + "mean_std_per_dim": flat(0.005)}
POOR = {COSINE.format(1): flat(0.6)}
SLOW = {"train/performance/samples_per_second": flat(50)}
FLOWS = [
    ("The loss does not fall", FLAT_LOSS | {"train/learning_rate/base_lr": flat(1e-6)}, [True, False, False]),
    ("The loss does not fall", FLAT_LOSS | {"train/gradient_flow/global_norm": flat(0)}, [False, True, False]),
    ("The loss does not fall", FLAT_LOSS | {"train/stability/loss_smoothness": flat(2)}, [False, False, True]),
    ("Features collapse", COLLAPSED | {COSINE.format(2): flat(0.4)}, [True, False, False]),
    ("Features collapse", COLLAPSED | {"train/gradient/clipping_percentage": flat(70)}, [False, True, False]),
    (
        "Features collapse",
        COLLAPSED | {"train/ema/avg_parameter_divergence": through((0, 0.01), (0.2, 0.01), (1, 0.2))},
        [False, False, True],
    ),
    ("Predictions are poor", POOR | {"train/loss/contribution_h2": flat(1)}, [True, False, False]),
    ("Predictions are poor", POOR | {"train/hierarchy/level2_feat_std": flat(0.01)}, [False, True, False]),
    ("Predictions are poor", POOR | {"train/masking/mask_ratio": flat(0.85)}, [False, False, True]),
    ("Something is wrong with gradients", {"train/gradient/clipping_percentage": flat(70)}, [True, False, False]),
    (
        "Something is wrong with gradients",
        {"train/gradient_flow/global_norm": through((0, 0.2), (1, 30))},
        [False, True, False],
    ),
    (
        "Something is wrong with gradients",
        {"train/gradient/clipping_percentage": flat(60), "train/gradient_flow/predictor_max": flat(50)},
        [True, False, True],
    ),
    ("Training is slow", SLOW, [False, False, True]),
    ("Training is slow", SLOW | {"train/performance/forward_time_ms": flat(80)}, [True, False, True]),
    ("Training is slow", SLOW | {"train/performance/gpu_memory_reserved_gb": flat(23.5)}, [False, True, True]),
]


@pytest.mark.parametrize(("question", "changes", "bad"), FLOWS)
def test_the_flowchart_leads_to_the_checks_that_fail(card, question, changes, bad):
    (branch,) = [row for row in card("hjepa", changes).flow if row.question.startswith(question)]
    assert branch.applies == "yes"
    assert [answer.bad for answer in branch.checks] == bad
    assert all(answer.value is not None for answer in branch.checks)
    assert branch.action


def test_the_finest_level_counts_too_though_the_profile_describes_it_separately(card):
    poor = card("hjepa", {COSINE.format(0): every(10, flat(0.6))}).flow
    (branch,) = [row for row in poor if row.question == "Predictions are poor"]
    assert (branch.applies, branch.because[0].tag) == ("yes", COSINE.format(0))
    narrow = card("hjepa", {"train/collapse/level0_mean_std_per_dim": every(10, flat(0.005))}).flow
    (branch,) = [row for row in narrow if row.question.startswith("Features collapse")]
    assert (branch.applies, branch.because[0].tag) == ("yes", "train/collapse/level0_mean_std_per_dim")


def test_a_check_that_nothing_was_logged_for_says_so(card):
    made = card("hjepa", SLOW | {"train/performance/gpu_memory_reserved_gb": None})
    (branch,) = [row for row in made.flow if row.question == "Training is slow"]
    assert [answer.reply for answer in branch.checks] == ["no", "not logged", "yes"]


# ---- patterns

PATTERNS = [
    ("hjepa", "Loss stays high", FLAT_LOSS),
    ("hjepa", "Loss falls, then rises", {"train/loss/total": through((0, 1.5), (0.5, 0.3), (1, 0.9))}),
    ("hjepa", "Collapse around epoch 30", {COLLAPSE + "mean_std_per_dim": through((0, 0.1), (0.3, 0.005), (1, 0.004))}),
    ("hjepa", "Loss is very noisy", {"train/stability/loss_smoothness": flat(3)}),
    (
        "hjepa",
        "Predictions level out early",
        {COSINE.format(0): every(10, through((0, 0.3), (0.1, 0.55), (1, 0.55)))},
    ),
    ("gpt", "Validation far above training", {"Loss/validation": every(10, flat(6))}),
    ("gpt", "Loss does not fall", {"Loss/train": flat(10.5)}),
    ("gpt", "Loss is NaN", {"Loss/train": np.where(half, np.nan, 4.0)}),
    ("gpt", "Throughput falls", {"Performance/tokens_per_sec": np.where(half, 4e4, 1e5)}),
    ("gpt", "HellaSwag is flat", {"Evaluation/hellaswag_accuracy": every(10, flat(0.25))}),
    ("gpt", "Gradient norm always at 1.0", {"Gradient/norm": flat(1.0)}),
    (
        "visualization",
        "Validation stops or rises while training falls",
        {"eval/val_loss": every(10, through((0, 4.2), (0.6, 1.9), (1, 2.2)))},
    ),
    ("visualization", "Loss does not fall", {"train/loss": flat(4.2)}),
    ("visualization", "Loss is NaN", {"train/loss": np.where(half, np.nan, 4.0)}),
    ("moe", "Experts are unused", {"moe/expert_utilization": flat(0.4)}),
    ("moe", "The router's logits grow", {"moe/z_loss": flat(0.3)}),
    ("moe", "Slower than the hardware", {"sol/percentage": flat(30)}),
    ("diffusion", "Flat from the start", {"train/loss": flat(1)}),
    ("diffusion", "Spikes", {"train/loss": np.where(DONE == 0.5, 4.0, 0.4)}),
    ("diffusion", "NaN", {"train/loss": np.where(half, np.nan, 0.4)}),
    (
        "diffusion",
        "Validation rises while training falls",
        {"validation/loss": every(50, through((0, 1.1), (0.5, 0.3), (1, 0.5)))},
    ),
    ("diffusion", "Near zero too soon", {"train/loss": through((0, 1.1), (0.03, 0.01), (1, 0.01))}),
    ("diffusion", "Peak memory near the limit", {"memory/vram_peak_gb": flat(23.8)}),
]


@pytest.mark.parametrize(("profile", "name", "changes"), PATTERNS)
def test_a_pattern_of_the_guide_is_recognized_with_cause_and_fix(card, profile, name, changes):
    (row,) = [row for row in card(profile, changes).patterns if row.name == name]
    assert row.matches
    assert row.because
    assert row.cause
    assert row.fix or row.check


def test_every_pattern_is_tested():
    declared = {(name, pattern.name) for name in shipped() for pattern in load_profile(name).patterns}
    assert declared == {(profile, name) for profile, name, _ in PATTERNS}


def test_a_pattern_is_also_recognized_by_its_finding(card):
    made = card("gpt", {"Loss/train": np.where(half, np.nan, 4.0)}, findings=None)
    (row,) = [row for row in made.patterns if row.name == "Loss is NaN"]
    assert any(reason.startswith("loss-nan:") for reason in row.because)


def test_an_info_alone_is_not_a_pattern(card):
    note = Finding(
        "loss-plateau", "info", "Loss/train", 500, 1000, "Loss/train has been at about 2.8 since step 500.", ()
    )
    made = card("gpt", findings=[note])
    assert [row.name for row in made.patterns if row.matches] == []
    alarm = card("gpt", findings=[replace(note, severity="warning")])
    assert [row.name for row in alarm.patterns if row.matches] == ["Loss does not fall"]


# ---- how often things are logged


@pytest.mark.parametrize(("steps", "verdict"), [(10, "more often"), (100, "as asked"), (250, "less often")])
def test_intervals_are_compared_with_those_of_the_guide(card, steps, verdict):
    made = card("hjepa", {"train/masking/mask_ratio": every(steps, flat(0.5))})
    (row,) = [row for row in made.cadence if row.category == "Masking"]
    assert (row.asked, row.every_steps, row.verdict) == ("100 steps", steps, verdict)


def test_what_is_not_logged_is_said(card):
    made = card("hjepa", {tag: None for tag in GOOD_RUNS["hjepa"]()[0] if "/ema/" in tag})
    assert [row.verdict for row in made.cadence if row.category == "EMA"] == ["not logged"]
    assert "train/ema/momentum_current" in made.missing
    (answer,) = [one for one in made.checks if one.tag == "train/ema/momentum_current"]
    assert (answer.reply, answer.value, answer.bad, answer.grade) == ("not logged", None, False, None)


def test_a_series_of_two_points_is_not_enough_data(card):
    made = card("gpt", {"Evaluation/hellaswag_accuracy": ([0, 500], [0.25, 0.25])})
    (answer,) = [one for one in made.checks if one.tag.startswith("Evaluation")]
    assert answer.reply == "not enough data"


def test_series_that_the_guide_does_not_ask_for_do_not_count_as_its_metrics(card):
    layers = {f"moe/layer{i}/router_entropy": every(10, flat(1.5)) for i in range(8)}
    (row,) = [row for row in card("moe", layers).cadence if row.category == "Experts"]
    assert (row.tags, row.every_steps, row.verdict) == (4, 1, "as asked")
