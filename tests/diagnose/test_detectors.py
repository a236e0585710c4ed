"""All detectors at once, on whatever a log may hold."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pulseboard.diagnose.detector import FAILED, all_detectors, run_detectors
from pulseboard.diagnose.roles.resolve import BY_NAME

# One tag or more for every role that a name can have.
TAGS = [
    "train/loss", "val/loss", "train/accuracy", "val/accuracy", "lr", "train/gradient/global_norm_before_clip",
    "train/gradient/global_norm_after_clip", "train/gradient/clipping_percentage", "train/gradient/was_clipped",
    "train/gradient_flow/zero_share", "train/gradient_flow/none_share",
    "train/gradient_flow/left_over", "train/gradient_flow/encoder_mean",
    "train/gradient_flow/head_mean", "train/update_ratio", "train/total_param_norm", "train/dead_units/a",
    "amp/loss_scale", "amp/skipped_steps", "epoch", "epoch_time",
    "train/performance/step_time_ms", "train/performance/data_time_ms",
    "tokens_per_sec", "memory/ram_main_process_gb", "memory/vram_peak_gb", "memory/allocator_retries",
    "gpu/0/gpu_util", "gpu/0/clock", "gpu/0/max_clock", "gpu/0/temperature", "gpu/0/temp_slowdown", "gpu/0/throttle",
    "gpu/0/xid", "sol/percentage", "train/collapse/level0_mean_std_per_dim", "train/collapse/level0_min_std_per_dim",
    "train/collapse/level0_effective_rank", "train/collapse/level0_mean_similarity", "train/target_variance",
    "train/relative_loss", "train/ema/momentum_current", "train/ema/avg_parameter_divergence",
    "train/ema/weight_magnitude_ratio", "train/masking/mask_ratio", "train/prediction/level0_cosine_sim_mean",
    "train/prediction/level0_cosine_sim_std", "train/loss/contribution_h0", "train/loss/contribution_h1",
    "train/loss/h0", "train/gradient_flow/target_encoder_mean", "eval/a/loss_quantile_0.1", "eval/a/loss_quantile_0.5",
    "eval/a/loss_quantile_0.9", "moe/aux_loss", "moe/z_loss", "moe/expert_utilization", "moe/load_imbalance",
    "moe/router_entropy", "moe/drop_rate", "moe/dead_experts", "rollout/ep_rew_mean", "train/approx_kl",
    "train/clip_fraction", "train/explained_variance", "losses/q_values",
    "Losses/Policy Loss", "Policy/Entropy", "G/loss", "train/kl_loss",
    "train_mae", "val_mae", "probe/eval_twice", "data/batch_hash", "data/padding_share", "rank/param_checksum",
    "rank/step_time", "rank/forward_time", "schedule/batch_size", "schedule/sequence_length",
]  # fmt: skip
CONFIG = {
    "vocab_size": 90,
    "unigram_entropy": 3.3,
    "max_steps": 200,
    "grad_clip": 1.0,
    "optimizer": "sgd",
    "num_experts": 8,
}

odd = st.sampled_from([0.0, 1.0, -1.0, float("nan"), float("inf"), float("-inf"), 1e308, -1e308, 1e-320, 100.0])
values = st.lists(odd | st.floats(-5, 5), min_size=0, max_size=12) | st.builds(
    lambda n, seed, scale: list(np.random.default_rng(seed).normal(size=n) * scale + 2),
    st.integers(1, 200), st.integers(0, 5), st.sampled_from([0.0, 0.1, 10.0]),
)  # fmt: skip


def test_the_tags_of_this_test_have_every_role():
    from pulseboard.diagnose.roles.resolve import possible_roles

    covered = {role for tag in TAGS for role in possible_roles(tag)}
    assert set(BY_NAME) - covered == set()


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.sampled_from(TAGS), values, max_size=25),
    st.booleans(),
    st.lists(st.integers(0, 150), max_size=2),
)
def test_no_detector_fails_whatever_is_logged(case, curves, configured, restarts):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = case(curves, config=CONFIG if configured else {}, restarts=restarts, now=1e9)
        seen = run_detectors(one)
    assert [n for n in seen.not_checked if n.because.startswith(FAILED)] == []
    found = {finding.slug for finding in seen.findings}
    assert found | seen.absent | {n.slug for n in seen.not_checked} == set(all_detectors())
    for finding in seen.findings:
        assert finding.first_step <= finding.last_step
        assert finding.summary.endswith((".", "…"))


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), 0.0])
@pytest.mark.parametrize("tag", TAGS)
def test_no_detector_fails_on_a_metric_that_is_never_a_number_or_always_zero(case, tag, wrong):
    curves = {key: list(np.random.default_rng(0).normal(2, 0.1, 120)) for key in TAGS} | {tag: [wrong] * 120}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seen = run_detectors(case(curves, config=CONFIG))
    assert [n for n in seen.not_checked if n.because.startswith(FAILED)] == []


def test_every_detector_and_every_file_are_one_to_one():
    files = [one.file for one in all_detectors().values()]
    assert len(files) == len(set(files))
    for slug, one in all_detectors().items():
        assert one.file.endswith(f"/{slug.replace('-', '_')}.py")


def test_no_detector_imports_another():
    """What two of them need is a fact."""
    for one in all_detectors().values():
        assert "from pulseboard.diagnose.detectors" not in Path(one.file).read_text(encoding="utf-8"), one.id


def test_every_detector_reads_roles_that_exist():
    for one in all_detectors().values():
        for wanted in one.reads:
            assert set(wanted.split("|")) <= {*BY_NAME, "histograms", "ranks", "any"}, one.id


def test_a_failing_detector_is_reported_and_costs_no_other(case, falling, monkeypatch):
    from pulseboard.diagnose import detector

    def broken(_case):
        raise RuntimeError("by design")

    bad = detector.Detector("loss-nan", ("train.loss",), (), broken, "here")
    seen = run_detectors(case({"train/loss": falling()}), [bad, all_detectors()["loss-zero"]])
    assert "by design" in seen.not_checked[0].because
    assert seen.absent == {"loss-zero"}
