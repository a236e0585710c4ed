"""Synthetic runs that obey every line of their guide. Tests break one rule at a time."""

import numpy as np

N = 1001
STEPS = np.arange(N)
DONE = STEPS / (N - 1)


def through(*points):
    """A curve through (progress, value) pairs, straight on a logarithmic scale where values are positive."""
    at, values = zip(*points, strict=True)
    if min(values) > 0:
        return np.exp(np.interp(DONE, at, np.log(values)))
    return np.interp(DONE, at, values)


def flat(value):
    return np.full(N, float(value))


def every(steps, values):
    """Every `steps`-th point only."""
    return STEPS[::steps], np.asarray(values)[::steps]


def hjepa():
    """Curves and config of an H-JEPA training."""
    total = through((0, 1.6), (0.1, 0.7), (0.5, 0.2), (1, 0.1))
    curves = {
        "train/loss/total": total,
        "train/loss/h0": through((0, 1.0), (0.1, 0.45), (0.5, 0.1), (1, 0.05)),
        "train/loss/h1": through((0, 0.8), (0.1, 0.3), (1, 0.05)),
        "train/loss/h2": through((0, 0.4), (0.1, 0.15), (1, 0.04)),
        "train/loss/unweighted": 0.8 * total,
        "train/loss/contribution_h0": flat(60),
        "train/loss/contribution_h1": flat(30),
        "train/loss/contribution_h2": flat(10),
        "train/convergence/rate_h0": flat(0.02),
        "train/convergence/rate_h1": flat(0.02),
        "train/convergence/rate_h2": flat(0.01),
        "train/stability/loss_smoothness": through((0, 0.5), (0.5, 0.1), (1, 0.05)),
        "train/stability/loss_trend_slope": np.interp(DONE, [0, 0.001, 0.5, 1], [-0.01, -0.01, -0.001, 0]),
        "train/stability/loss_spike_ratio": flat(1.2),
        "train/stability/val_train_loss_ratio": flat(1.05),
    }
    hundredth = {
        "train/masking/mask_ratio": flat(0.55),
        "train/gradient_flow/global_norm": through((0, 2.0), (0.1, 1.0), (0.5, 0.3), (1, 0.05)),
        "train/gradient_flow/context_encoder_mean": flat(0.002),
        "train/gradient_flow/context_encoder_max": flat(0.02),
        "train/gradient_flow/predictor_mean": flat(0.001),
        "train/gradient_flow/predictor_max": flat(0.03),
        "train/gradient_flow/target_encoder_mean": flat(0),
        "train/gradient/global_norm_before_clip": flat(1),
        "train/gradient/clipping_percentage": flat(5),
        "train/learning_rate/base_lr": np.interp(DONE, [0, 0.05, 0.1, 0.5, 1], [0, 5e-4, 4e-4, 2e-4, 2e-5]),
        "train/performance/forward_time_ms": flat(40),
        "train/performance/total_time_ms": flat(100),
        "train/performance/samples_per_second": flat(250),
        "train/performance/forward_backward_ratio": flat(0.67),
        "train/performance/gpu_memory_allocated_gb": flat(16),
        "train/performance/gpu_memory_reserved_gb": flat(18),
    }
    for level in range(3):
        lower = 0.01 * level
        hundredth |= {
            f"train/prediction/level{level}_cosine_sim_mean": (
                through((0, 0.38), (0.01, 0.4), (0.1, 0.5), (0.5, 0.78), (1, 0.9)) - lower
            ),
            f"train/prediction/level{level}_cosine_sim_std": flat(0.15),
            f"train/prediction/level{level}_cosine_sim_min": flat(0.3),
            f"train/prediction/level{level}_cosine_sim_max": flat(0.95),
            f"train/collapse/level{level}_mean_std_per_dim": through((0, 0.1), (0.5, 0.15), (1, 0.18)),
            f"train/collapse/level{level}_min_std_per_dim": flat(0.02),
            f"train/collapse/level{level}_effective_rank": flat(600),
            f"train/collapse/level{level}_mean_similarity": flat(0.1),
            f"train/hierarchy/level{level}_feat_std": flat(1.0),
            f"train/hierarchy/level{level}_feat_norm": flat(27),
            f"train/hierarchy/level{level}_num_patches": flat((196, 98, 49)[level]),
        }
    ema = {
        "train/ema/momentum_current": np.interp(DONE, [0, 0.1, 0.5, 1], [0.996, 0.998, 0.9995, 1.0]),
        "train/ema/momentum_target": flat(1),
        "train/ema/avg_parameter_divergence": through((0, 0.01), (0.1, 0.05), (0.3, 0.1), (1, 0.1)),
        "train/ema/weight_magnitude_ratio": flat(1),
    }
    curves |= {tag: every(10, values) for tag, values in hundredth.items()}
    curves |= {tag: every(50, values) for tag, values in ema.items()}
    config = {"max_steps": N - 1, "embedding_dim": 768, "hierarchy_weights": [0.6, 0.3, 0.1], "gpu_memory_gb": 24}
    return curves, config


def gpt():
    """Curves and config of a GPT-2 training as in the guide's timeline."""
    loss = through((0, 10.5), (0.0524, 4.5), (0.2097, 3.5), (0.5243, 3.0), (1, 2.8))
    gap = np.interp(DONE, [0, 0.05, 1], [0, 0.2, 0.2])
    rng = np.random.default_rng(0)
    curves = {
        "Loss/train": loss,
        "Loss/validation": every(10, loss + gap),
        "Learning_Rate/lr": np.interp(DONE, [0, 0.05, 1], [0, 1e-3, 1e-4]),
        "Gradient/norm": 0.6 + 0.2 * rng.random(N),
        "Performance/step_time_ms": flat(100),
        "Performance/tokens_per_sec": flat(1e5),
        "Training/epoch": 5 * DONE,
        "Evaluation/hellaswag_accuracy": every(
            10, through((0, 0.25), (0.0524, 0.26), (0.2097, 0.28), (0.5243, 0.32), (1, 0.35))
        ),
    }
    return curves, {"max_steps": N - 1, "vocab_size": 50257}


def visualization():
    """Curves and config of a train.py run."""
    loss = through((0, 4.2), (0.3, 2.0), (1, 1.5))
    curves = {
        "train/loss": loss * (1 + 0.02 * np.random.default_rng(0).normal(size=N)),
        "eval/train_loss": every(10, loss),
        "eval/val_loss": every(10, 1.05 * loss),
        "eval/learning_rate": every(10, flat(0.01)),
    }
    return curves, {"max_steps": N - 1}


def moe():
    """Curves and config of a mixture of experts."""
    curves = {
        "train/loss": through((0, 10), (0.3, 4), (1, 3)),
        "train/norm": 0.3 + 0.05 * np.random.default_rng(0).random(N),
        "train/lr": flat(2e-4),
        "train/tokens_per_second": flat(1.2e5),
        "eval/loss": every(100, through((0, 10), (0.3, 4.1), (1, 3.1))),
        "moe/aux_loss": flat(0.02),
        "moe/z_loss": flat(0.001),
        "moe/expert_utilization": flat(0.95),
        "moe/load_imbalance": flat(1.4),
        "sol/percentage": flat(82),
        "gpu/0/temperature": every(10, flat(70)),
        "gpu/0/temp_slowdown": every(10, flat(83)),
    }
    return curves, {"max_steps": N - 1}


def diffusion():
    """Curves and config of a diffusion training."""
    loss = through((0, 1.1), (0.1, 0.4), (1, 0.15))
    curves = {
        "train/loss": loss * (1 + 0.05 * np.random.default_rng(0).normal(size=N)),
        "train/epoch_loss": loss,
        "validation/loss": every(50, 1.05 * loss),
        "eval/validation/loss_quantile_0.1": every(50, 0.5 * loss),
        "eval/validation/loss_quantile_0.9": every(50, 1.5 * loss),
        "train/total_param_norm": flat(50),
        "memory/vram_allocated_gb": flat(10),
        "memory/vram_reserved_gb": flat(12),
        "memory/vram_peak_gb": flat(14),
        "memory/ram_main_process_gb": flat(2),
        "eval/eval_time_sec": every(50, flat(3)),
    }
    return curves, {"max_steps": N - 1, "gpu_memory_gb": 24}


GOOD_RUNS = {"hjepa": hjepa, "gpt": gpt, "visualization": visualization, "moe": moe, "diffusion": diffusion}


def metric(card, tag):
    """The row of a metric."""
    (row,) = [row for row in card.metrics if row.tag == tag]
    return row


def broken(card):
    """The checks that a run fails, as (tag, measure)."""
    return {(answer.tag, answer.measure) for answer in card.checks if answer.bad}
