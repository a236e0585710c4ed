"""Every figure of the five written guides, and where a profile holds it."""

import re
from math import inf
from pathlib import Path

import pytest

from pulseboard.diagnose.profile import load_profile

REFERENCES = Path(__file__).parents[4] / "shared" / "reference"


# ---- where a figure may be held: each gives what the profile has, and what the guide says


def band(profile, tag, kind, *pairs):
    metric = load_profile(profile).metric(tag)
    return [(b.low, b.high) for b in metric.bands if b.kind == kind], list(pairs)


def stage(profile, tag, progress, low, high):
    stages = load_profile(profile).metric(tag).stages
    return [(s.low, s.high) for s in stages if s.progress == progress], [(low, high)]


def milestones(profile, tag, *pairs):
    return [(s.step, s.value) for s in load_profile(profile).metric(tag).stages], list(pairs)


def limit(profile, slug, name, value):
    return load_profile(profile).limit(slug, name), value


def every(profile, cadence, *tags):
    return [load_profile(profile).metric(tag).every for tag in tags], [cadence] * len(tags)


def unit(profile, name, *tags):
    return [load_profile(profile).metric(tag).unit for tag in tags], [name] * len(tags)


def says(profile, tag, *words):
    metric = load_profile(profile).metric(tag)
    return _among(words, metric.meaning, metric.expected, *metric.warning_signs)


def flow(profile, question, *words):
    (step,) = [one for one in load_profile(profile).flow if question in one.question]
    return _among(words, step.question, *(f"{check.tag} {check.ask}" for check in step.checks), step.action)


def pattern(profile, name, *words):
    (one,) = [one for one in load_profile(profile).patterns if one.name == name]
    return _among(words, *one.check, *one.fix, *one.when, one.cause, one.name)


def advice(profile, *words):
    return _among(words, *load_profile(profile).advice)


def _among(words, *texts):
    text = "\n".join(texts)
    return [word for word in words if re.search(rf"(?<![\w.]){re.escape(word)}(?![\w])", text)], list(words)


LEVELS = "train/collapse/level1_"
EPOCH_10, EPOCH_50, EPOCH_100 = 0.1, 0.5, 1.0

# (guide, the figure in short, where it is held)
FIGURES = [
    # ---- 000: diffusion
    ("000", "peak memory near what the GPU has", says("diffusion", "memory/vram_peak_gb", "24", "3090")),
    (
        "000",
        "training loss flat, spiking, near zero too soon",
        says("diffusion", "train/loss", "flat", "spikes", "zero"),
    ),
    ("000", "validation rising is overfitting", says("diffusion", "test/loss", "rises", "overfitting")),
    ("000", "all noise bands fall", says("diffusion", "eval/a/loss_quantile_0.5", "fall")),
    ("000", "weights do not explode", says("diffusion", "train/total_param_norm", "explodes")),
    # ---- 001, 1: losses
    ("001", "3 levels, the first of 14 x 14 patches", says("hjepa", "train/loss/h0", "14")),
    ("001", "7 x 7 patches", says("hjepa", "train/loss/h1", "7")),
    ("001", "4 x 4 patches", says("hjepa", "train/loss/h2", "4")),
    ("001", "share of h0", band("hjepa", "train/loss/contribution_h0", "healthy", (50, 70))),
    ("001", "share of h1", band("hjepa", "train/loss/contribution_h1", "healthy", (25, 40))),
    ("001", "share of h2", band("hjepa", "train/loss/contribution_h2", "healthy", (5, 15))),
    # ---- 2: the average
    ("001", "momentum from 0.996 to 1", band("hjepa", "train/ema/momentum_current", "healthy", (0.996, 1.0))),
    ("001", "momentum at the end", band("hjepa", "train/ema/momentum_target", "healthy", (1.0, 1.0))),
    ("001", "divergence above 10 times", limit("hjepa", "ema-divergence", "times", 10)),
    ("001", "divergence above 10 times", says("hjepa", "train/ema/avg_parameter_divergence", "10")),
    ("001", "ratio of sizes", band("hjepa", "train/ema/weight_magnitude_ratio", "warning", (-inf, 0.8), (1.2, inf))),
    ("001", "ratio too low", limit("hjepa", "ema-magnitude-mismatch", "low", 0.8)),
    ("001", "ratio too high", limit("hjepa", "ema-magnitude-mismatch", "high", 1.2)),
    # ---- 3: masks
    ("001", "masked share", band("hjepa", "train/masking/mask_ratio", "healthy", (0.4, 0.7))),
    ("001", "masked share, low", limit("hjepa", "mask-ratio-range", "low", 0.4)),
    ("001", "masked share, high", limit("hjepa", "mask-ratio-range", "high", 0.7)),
    ("001", "number, scale (0.05 to 0.15) and aspect of masks", advice("hjepa", "4", "5", "15", "0.75", "1.5")),
    # ---- 4: predictions
    ("001", "good cosine", band("hjepa", "train/prediction/level2_cosine_sim_mean", "healthy", (0.7, 1.0))),
    ("001", "spread of cosines", band("hjepa", "train/prediction/level2_cosine_sim_std", "healthy", (0.1, inf))),
    (
        "001",
        "cosine over epochs 1, 50, 100",
        says("hjepa", "train/prediction/level0_cosine_sim_mean", "0.4", "0.7", "0.85"),
    ),
    # ---- 5: collapse
    ("001", "mean std, healthy", band("hjepa", LEVELS + "mean_std_per_dim", "healthy", (0.05, inf))),
    ("001", "mean std, warning", band("hjepa", LEVELS + "mean_std_per_dim", "warning", (0.02, 0.05))),
    ("001", "mean std, collapse", band("hjepa", LEVELS + "mean_std_per_dim", "critical", (-inf, 0.01))),
    ("001", "mean std, collapse", limit("hjepa", "representation-collapse", "std_floor", 0.01)),
    ("001", "min std, healthy", band("hjepa", LEVELS + "min_std_per_dim", "healthy", (0.005, inf))),
    ("001", "min std, warning", band("hjepa", LEVELS + "min_std_per_dim", "warning", (0.001, 0.005))),
    ("001", "min std, collapse", band("hjepa", LEVELS + "min_std_per_dim", "critical", (-inf, 0.001))),
    ("001", "rank, healthy", band("hjepa", LEVELS + "effective_rank", "healthy", (500, inf))),
    ("001", "rank, warning", band("hjepa", LEVELS + "effective_rank", "warning", (200, 500))),
    ("001", "rank, collapse", band("hjepa", LEVELS + "effective_rank", "critical", (-inf, 200))),
    ("001", "rank of 768 dimensions", (load_profile("hjepa").metric(LEVELS + "effective_rank").dimension, 768)),
    ("001", "similarity, healthy", band("hjepa", LEVELS + "mean_similarity", "healthy", (-1.0, 0.3))),
    ("001", "similarity, warning", band("hjepa", LEVELS + "mean_similarity", "warning", (0.3, 0.7))),
    ("001", "similarity, collapse", band("hjepa", LEVELS + "mean_similarity", "critical", (0.7, inf))),
    ("001", "what to do: rate x 2, momentum", pattern("hjepa", "Collapse around epoch 30", "Double", "0.996", "0.99")),
    # ---- 6: gradients
    ("001", "norm above 10", band("hjepa", "train/gradient_flow/global_norm", "warning", (10, inf))),
    ("001", "clipped below 5 to 10 %", says("hjepa", "train/gradient/clipping_percentage", "5", "10")),
    ("001", "clipped, usual", band("hjepa", "train/gradient/clipping_percentage", "healthy", (0, 10))),
    ("001", "clipped above 50 %", band("hjepa", "train/gradient/clipping_percentage", "warning", (50, 100))),
    ("001", "clipped above 50 %", limit("hjepa", "clipping-excess", "share", 0.5)),
    ("001", "never clipped", says("hjepa", "train/gradient/clipping_percentage", "0")),
    ("001", "no gradients in the target", says("hjepa", "train/gradient_flow/target_encoder_mean", "0")),
    # ---- 7: learning rate
    ("001", "schedule", says("hjepa", "train/learning_rate/base_lr", "0", "1e-3", "1e-5", "5", "100")),
    # ---- 8: levels
    ("001", "patches of levels", says("hjepa", "train/hierarchy/level0_num_patches", "196", "98", "49", "224", "16")),
    # ---- 9: stability
    ("001", "smoothness at steps 1, 500, 1000", says("hjepa", "train/stability/loss_smoothness", "0.5", "0.1", "0.05")),
    ("001", "at steps", says("hjepa", "train/stability/loss_smoothness", "1", "500", "1000")),
    ("001", "slope", says("hjepa", "train/stability/loss_trend_slope", "-0.01", "-0.001", "0")),
    ("001", "spike ratio", band("hjepa", "train/stability/loss_spike_ratio", "warning", (1.5, inf))),
    ("001", "validation over training", band("hjepa", "train/stability/val_train_loss_ratio", "warning", (1.1, inf))),
    # ---- 10: performance
    ("001", "forward over backward", band("hjepa", "train/performance/forward_backward_ratio", "healthy", (0.5, 1.5))),
    (
        "001",
        "forward over backward, odd",
        band("hjepa", "train/performance/forward_backward_ratio", "warning", (-inf, 0.3), (2.0, inf)),
    ),
    ("001", "backward 1 to 2 times forward", says("hjepa", "train/performance/backward_time_ms", "1", "2")),
    (
        "001",
        "throughput of two GPUs",
        says("hjepa", "train/performance/samples_per_second", "200", "400", "64", "100", "32", "a tenth"),
    ),
    ("001", "memory", says("hjepa", "train/performance/gpu_memory_allocated_gb", "8", "16", "64", "40")),
    ("001", "too much memory", band("hjepa", "train/performance/gpu_memory_allocated_gb", "warning", (40, inf))),
    # ---- 11: the flow
    ("001", "loss does not fall", flow("hjepa", "loss does not fall", "1e-5", "0", "1")),
    ("001", "collapse", flow("hjepa", "collapse", "0.01", "0.5", "clipping_percentage", "avg_parameter_divergence")),
    ("001", "poor predictions", flow("hjepa", "Predictions are poor", "contribution_h{i}", "mask_ratio")),
    ("001", "gradients", flow("hjepa", "wrong with gradients", "50", "global_norm", "predictor_max")),
    ("001", "slow", flow("hjepa", "slow", "100", "forward_time_ms", "gpu_memory_reserved_gb")),
    # ---- 12: cadences
    ("001", "losses", every("hjepa", "step", "train/loss/total", "train/loss/h0", "train/loss/contribution_h2")),
    ("001", "masks", every("hjepa", "100 steps", "train/masking/mask_ratio", "train/masking/num_masked_patches")),
    ("001", "predictions", every("hjepa", "100 to 500 steps", "train/prediction/level0_cosine_sim_mean")),
    ("001", "collapse", every("hjepa", "100 to 500 steps", LEVELS + "effective_rank", LEVELS + "mean_std_per_dim")),
    ("001", "gradients", every("hjepa", "100 steps", "train/gradient_flow/global_norm", "train/gradient/was_clipped")),
    ("001", "learning rate", every("hjepa", "100 steps", "train/learning_rate/base_lr")),
    ("001", "hierarchy", every("hjepa", "100 steps", "train/hierarchy/level1_feat_std")),
    ("001", "stability", every("hjepa", "step", "train/stability/loss_smoothness")),
    ("001", "performance", every("hjepa", "100 steps", "train/performance/forward_time_ms")),
    ("001", "timing below 1 %", advice("hjepa", "1 %", "100")),
    ("001", "the average", every("hjepa", "500 to 1000 steps", "train/ema/avg_parameter_divergence")),
    # ---- 15: ranges by epoch
    ("001", "total, 10", stage("hjepa", "train/loss/total", EPOCH_10, 0.5, 1.0)),
    ("001", "h0, 10", stage("hjepa", "train/loss/h0", EPOCH_10, 0.3, 0.6)),
    ("001", "h1, 10", stage("hjepa", "train/loss/h1", EPOCH_10, 0.2, 0.4)),
    ("001", "h2, 10", stage("hjepa", "train/loss/h2", EPOCH_10, 0.1, 0.2)),
    ("001", "cosine, 10", stage("hjepa", "train/prediction/level0_cosine_sim_mean", EPOCH_10, 0.4, 0.6)),
    ("001", "std, 10", stage("hjepa", "train/collapse/level0_mean_std_per_dim", EPOCH_10, 0.05, 0.15)),
    ("001", "norm, 10", stage("hjepa", "train/gradient_flow/global_norm", EPOCH_10, 0.5, 2.0)),
    ("001", "rate, 10", stage("hjepa", "train/learning_rate/base_lr", EPOCH_10, 3e-4, 5e-4)),
    ("001", "throughput, 10", band("hjepa", "train/performance/samples_per_second", "healthy", (100, 400))),
    ("001", "momentum, 10", stage("hjepa", "train/ema/momentum_current", EPOCH_10, 0.9970, 0.9990)),
    ("001", "total, 50", stage("hjepa", "train/loss/total", EPOCH_50, 0.1, 0.3)),
    ("001", "h0, 50", stage("hjepa", "train/loss/h0", EPOCH_50, 0.05, 0.15)),
    ("001", "cosine, 50", stage("hjepa", "train/prediction/level0_cosine_sim_mean", EPOCH_50, 0.7, 0.85)),
    ("001", "std, 50", stage("hjepa", "train/collapse/level0_mean_std_per_dim", EPOCH_50, 0.08, 0.2)),
    ("001", "norm, 50", stage("hjepa", "train/gradient_flow/global_norm", EPOCH_50, 0.1, 0.5)),
    ("001", "rate, 50", stage("hjepa", "train/learning_rate/base_lr", EPOCH_50, 1e-4, 3e-4)),
    ("001", "momentum, 50", stage("hjepa", "train/ema/momentum_current", EPOCH_50, 0.999, 0.9999)),
    ("001", "total, 100", stage("hjepa", "train/loss/total", EPOCH_100, 0.05, 0.15)),
    ("001", "h0, 100", stage("hjepa", "train/loss/h0", EPOCH_100, 0.02, 0.10)),
    ("001", "cosine, 100", stage("hjepa", "train/prediction/level0_cosine_sim_mean", EPOCH_100, 0.85, 0.95)),
    ("001", "std, 100", stage("hjepa", "train/collapse/level0_mean_std_per_dim", EPOCH_100, 0.10, 0.25)),
    ("001", "norm, 100", stage("hjepa", "train/gradient_flow/global_norm", EPOCH_100, 0.01, 0.1)),
    ("001", "rate, 100", stage("hjepa", "train/learning_rate/base_lr", EPOCH_100, 1e-5, 1e-4)),
    ("001", "momentum, 100", stage("hjepa", "train/ema/momentum_current", EPOCH_100, 0.9999, 1.0)),
    # ---- 16: patterns
    ("001", "loss stays high", pattern("hjepa", "Loss stays high", "Double", "lr-too-low")),
    ("001", "falls, then rises", pattern("hjepa", "Loss falls, then rises", "50", "lr-too-high")),
    ("001", "collapse around epoch 30", pattern("hjepa", "Collapse around epoch 30", "30", "representation-collapse")),
    ("001", "noisy", pattern("hjepa", "Loss is very noisy", "train/stability/loss_smoothness")),
    ("001", "levels out early", pattern("hjepa", "Predictions level out early", "ema-momentum-too-high")),
    # ---- 002: GPT-2
    ("002", "scalars every step", every("gpt", "step", "Loss/train", "Learning_Rate/lr", "Gradient/norm")),
    ("002", "histograms every 1000", every("gpt", "1000 steps", "Parameters/wte", "Gradients/wte")),
    ("002", "text at evaluations", every("gpt", "evaluation", "Generated_Samples/text")),
    ("002", "checkpoints and evaluations every 250", advice("gpt", "250")),
    ("002", "norm mostly 0.3 to 1.0", band("gpt", "Gradient/norm", "healthy", (0.3, 1.0))),
    ("002", "norm often 0.5 to 1.0, clipped at 1.0", says("gpt", "Gradient/norm", "0.5", "1.0")),
    ("002", "chance at HellaSwag, 25 %", band("gpt", "Evaluation/hellaswag_accuracy", "healthy", (0.25, 1.0))),
    (
        "002",
        "training loss by step",
        milestones("gpt", "Loss/train", (0, 10.5), (5000, 4.5), (20000, 3.5), (50000, 3.0), (95365, 2.8)),
    ),
    (
        "002",
        "validation loss by step",
        milestones("gpt", "Loss/validation", (0, 10.5), (5000, 4.7), (20000, 3.7), (50000, 3.2), (95365, 3.0)),
    ),
    (
        "002",
        "HellaSwag by step",
        milestones(
            "gpt",
            "Evaluation/hellaswag_accuracy",
            (0, 0.25),
            (5000, 0.26),
            (20000, 0.28),
            (50000, 0.32),
            (95365, 0.35),
        ),
    ),
    (
        "002",
        "text by step",
        says("gpt", "Generated_Samples/text", "Random", "words", "phrases", "sentences", "coherent paragraphs"),
    ),
    ("002", "a step's bytes", advice("gpt", "1 kB", "500 kB", "10 kB", "500 MB")),
    ("002", "a run's bytes", advice("gpt", "95,000", "95", "47.5", "4", "400", "150 MB")),
    ("002", "histograms every 5000", advice("gpt", "5000")),
    ("002", "validation far above", pattern("gpt", "Validation far above training", "overfitting")),
    ("002", "loss does not fall", pattern("gpt", "Loss does not fall", "lr-too-low")),
    ("002", "NaN", pattern("gpt", "Loss is NaN", "lr-too-high")),
    ("002", "throughput falls", pattern("gpt", "Throughput falls", "throughput-drop")),
    ("002", "HellaSwag flat", pattern("gpt", "HellaSwag is flat", "eval-at-chance")),
    # ---- 003: GPT
    ("003", "smoothing of a noisy loss", advice("visualization", "0.6", "0.8")),
    ("003", "smoothing of evaluations", advice("visualization", "0", "0.3")),
    ("003", "histogram intervals", advice("visualization", "50", "100", "500", "0")),
    ("003", "histograms, healthy", says("visualization", "wte.weight", "bell", "zero", "humps")),
    ("003", "gradients, healthy", says("visualization", "wte.weight.grad", "zero", "vanishing", "exploding")),
    ("003", "overfitting", says("visualization", "eval/val_loss", "overfitting")),
    # ---- 004: mixtures of experts
    ("004", "spike above 5 times", limit("moe", "gradient-spike", "times", 5)),
    ("004", "spike above 5 times", says("moe", "train/norm", "5")),
    ("004", "aux loss, healthy", band("moe", "moe/aux_loss", "healthy", (0.001, 0.1))),
    ("004", "aux loss above 1", band("moe", "moe/aux_loss", "critical", (1.0, inf))),
    ("004", "z-loss, healthy", band("moe", "moe/z_loss", "healthy", (0.0001, 0.01))),
    ("004", "z-loss above 0.1", band("moe", "moe/z_loss", "warning", (0.1, inf))),
    ("004", "z-loss above 0.1", limit("moe", "moe-zloss-high", "level", 0.1)),
    ("004", "utilization, healthy", band("moe", "moe/expert_utilization", "healthy", (0.8, 1.0))),
    ("004", "utilization below 0.5", band("moe", "moe/expert_utilization", "critical", (-inf, 0.5))),
    ("004", "keep utilization above 0.7", band("moe", "moe/expert_utilization", "warning", (0.5, 0.7))),
    ("004", "imbalance, healthy", band("moe", "moe/load_imbalance", "healthy", (1.0, 2.0))),
    ("004", "imbalance above 3", band("moe", "moe/load_imbalance", "critical", (3.0, inf))),
    ("004", "imbalance above 3", limit("moe", "moe-imbalance", "ratio", 3)),
    ("004", "keep imbalance below 2.5", band("moe", "moe/load_imbalance", "warning", (2.5, 3.0))),
    ("004", "speed of light of 100 below 60", band("moe", "sol/percentage", "warning", (-inf, 60))),
    ("004", "speed of light below 60", limit("moe", "sol-low", "percent", 60)),
    ("004", "speed of light from 80", says("moe", "sol/percentage", "80")),
    ("004", "every step", every("moe", "step", "train/loss", "train/norm", "train/lr", "moe/aux_loss")),
    ("004", "clocks", unit("moe", "MHz", "gpu/0/clock", "gpu/0/max_clock")),
    ("004", "power", unit("moe", "mW", "gpu/0/power", "gpu/0/power_limit")),
    ("004", "temperature", unit("moe", "°C", "gpu/0/temperature", "gpu/0/temp_slowdown")),
    ("004", "shares", unit("moe", "%", "gpu/0/gpu_util", "gpu/0/mem_util", "gpu/0/fan")),
    # Event files have MiB and MiB/s, like W&B in the guide; records of the JSON log have bytes and bytes/s.
    ("004", "memory", unit("moe", "MiB", "gpu/0/dram_free")),
    ("004", "bus", unit("moe", "MiB/s", "gpu/0/pcie_rx", "gpu/0/pcie_tx")),
]

# The words of the guides between which their figures stand. The rest is about ports, paths and their own programs.
SECTIONS = {
    "000": [("## 1.", None)],
    "001": [("## 1.", "## 13."), ("## 15.", "## Summary")],
    "002": [
        ("### Scalars (Every Step)", "### Hyperparameters"),
        ("**Key Charts", "### HParams Tab"),
        ("### Healthy Training", "Screenshot Examples"),
        ("### Gradient Norm", "---"),
        ("Disk Usage", "---"),
    ],
    "003": [("### Training Loss", "## Exploring"), ("**Tips:**", "### Relative"), ("### Histogram Interval", "---")],
    "004": [
        ("Legend:", "### JSON"),
        ("### Interpreting MoE", "### JSON"),
        ("This represents", "##"),
        ("## Best", None),
    ],
}


@pytest.mark.parametrize(("guide", "figure", "held"), FIGURES, ids=[f"{guide}-{what}" for guide, what, _ in FIGURES])
def test_a_profile_holds_the_figure(guide, figure, held):
    there, said = held
    assert there == said


def test_every_number_of_the_guides_is_listed():
    if not REFERENCES.is_dir():
        pytest.skip(f"the written guides are not next to the project: {REFERENCES}")
    for guide, sections in SECTIONS.items():
        (file,) = REFERENCES.glob(f"{guide}_*.txt")
        text = file.read_text(encoding="utf-8")
        parts = [_between(text, begin, end) for begin, end in sections]
        there = {number for part in parts for number in _numbers(part)}
        listed = {number for of, what, held in FIGURES if of == guide for number in _numbers(f"{what} {held[1]}")}
        assert there - listed == set(), guide


def _between(text, begin, end):
    at = text.index(begin)
    return text[at : text.index(end, at + len(begin)) if end else None]


def _numbers(text):
    text = re.sub(r"(?m)^(#.*|\s*\d+\. )", "", text)  # headings, numbers of lists
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    text = re.sub(r"[A-Za-z_{}][\w{}/.]*\d[\w]*", " ", text)  # names: h0, level0_…
    return {abs(float(found)) for found in re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", text)}
