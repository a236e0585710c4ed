"""The hierarchical JEPA learns, logs every tag of its guide, and breaks as its faults promise."""

import numpy as np
import pytest
import torch
from trained import assert_golden_losses, train, values

pytestmark = pytest.mark.early

SMALL = (
    "--train-images 256 --size 32 --patch 4 --dim 16 --depth 1 --heads 2 --predictor-dim 16 --batch-size 16 "
    "--eval-every 15 --log-every 2"
).split()
LEVELS = (0, 1, 2)
# Sections 1 to 10 of the guide.
TAGS = """
train/loss/total train/loss/h0 train/loss/h1 train/loss/h2 train/loss/unweighted
train/loss/contribution_h0 train/loss/contribution_h1 train/loss/contribution_h2
train/convergence/rate_h0 train/convergence/rate_h1 train/convergence/rate_h2
train/ema/momentum_current train/ema/momentum_target train/ema/avg_parameter_divergence train/ema/weight_magnitude_ratio
train/masking/mask_ratio train/masking/num_masked_patches train/masking/num_unmasked_patches
train/gradient_flow/global_norm train/gradient_flow/context_encoder_mean train/gradient_flow/context_encoder_max
train/gradient_flow/predictor_mean train/gradient_flow/predictor_max train/gradient_flow/target_encoder_mean
train/gradient/global_norm_before_clip train/gradient/global_norm_after_clip train/gradient/clipping_ratio
train/gradient/was_clipped train/gradient/clipping_percentage
train/learning_rate/base_lr train/learning_rate/param_group_0 train/learning_rate/param_group_1
train/learning_rate/avg_param_update
train/stability/loss_smoothness train/stability/loss_trend_slope train/stability/loss_spike_ratio
train/stability/val_train_loss_ratio
train/performance/forward_time_ms train/performance/backward_time_ms train/performance/total_time_ms
train/performance/samples_per_second train/performance/forward_backward_ratio
""".split()
TAGS += [
    f"train/{group}/level{level}_{name}"
    for level in LEVELS
    for group, names in {
        "prediction": "cosine_sim_mean cosine_sim_std cosine_sim_min cosine_sim_max normalized_mse l2_distance",
        "collapse": "mean_std_per_dim min_std_per_dim effective_rank mean_similarity max_similarity std_similarity",
        "hierarchy": "feat_mean feat_std feat_range feat_norm num_patches",
    }.items()
    for name in names.split()
]
GPU_TAGS = "train/performance/gpu_memory_allocated_gb train/performance/gpu_memory_reserved_gb".split()


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    return train("hjepa", tmp_path_factory.mktemp("runs"), *SMALL, "--steps", 30)


def test_every_tag_of_the_guide_is_there(healthy):
    tags = TAGS + (GPU_TAGS if torch.cuda.is_available() else [])
    assert sorted(set(tags) - set(healthy.run.tags("scalar"))) == []
    assert "gradients/context_encoder.patches.weight_histogram" in healthy.run.tags("histogram")


def test_the_loss_curve_is_the_golden_one(healthy):
    assert_golden_losses(healthy, "train/loss/total", "hjepa")


def test_the_config_has_what_a_diagnosis_needs(healthy):
    want = {"embedding_dim": 16, "max_steps": 30, "optimizer": "adamw", "ema_momentum_start": 0.996, "num_masks": 4}
    assert want.items() <= healthy.config.items()
    assert healthy.config["hierarchy_weights"] == [1.0, 1.0, 1.0]
    assert healthy.config["mask_scale"] == [0.15, 0.2]


def test_coarser_levels_have_fewer_positions(healthy):
    assert [values(healthy, f"train/hierarchy/level{level}_num_patches")[0] for level in LEVELS] == [64, 16, 4]


def test_the_target_follows_slowly_and_gets_no_gradient(healthy):
    momentum = values(healthy, "train/ema/momentum_current")
    assert momentum[0] == pytest.approx(0.996)
    assert momentum[-1] == pytest.approx(1.0)
    assert (np.diff(momentum) > 0).all()
    assert (values(healthy, "train/gradient_flow/target_encoder_mean") == 0).all()
    assert values(healthy, "train/ema/avg_parameter_divergence")[-1] > 0


def test_masks_are_rectangles_of_the_configured_size(healthy):
    script = healthy.script
    masks = script.draw_masks(200, script.random_of(1)).view(200, 8, 8)
    assert 0.4 < masks.float().mean() < 0.6
    script.args.num_masks = 1
    one = script.draw_masks(200, script.random_of(1)).view(200, 8, 8)
    script.args.num_masks = 4
    rows, columns = one.any(dim=2).sum(dim=1), one.any(dim=1).sum(dim=1)
    area = one.sum(dim=(1, 2))
    assert torch.equal(area, rows * columns)  # whole rectangles
    assert area.min() >= 6
    assert area.max() <= 16  # 0.15 to 0.2 of 64, rounded
    assert ((rows / columns) >= 0.5).all()


def test_hidden_patches_do_not_reach_the_prediction(healthy):
    model = healthy.script.model.eval()
    pixels = healthy.script.val_images.pixels[:4]
    masks = torch.zeros(4, 64, dtype=torch.bool)
    masks[:, :32] = True  # the upper half
    other = pixels.clone()
    other[:, :, :16] = 5.0
    torch.manual_seed(0)
    with torch.no_grad():
        predicted = [p for p, _, _ in model(pixels, masks)]
        torch.manual_seed(0)
        again = [p for p, _, _ in model(other, masks)]
    for before, after in zip(predicted, again, strict=True):
        torch.testing.assert_close(before, after)


@pytest.mark.long
def test_training_improves_the_probe(tmp_path):
    flags = (
        "--steps 320 --train-images 4000 --batch-size 16 --ema-start 0.998 --learning-rate 3e-3 --log-every 40".split()
    )
    learned = train("hjepa", tmp_path, *flags, "--eval-every", 320)
    before, after = values(learned, "probe/accuracy")[[0, -1]]
    assert values(learned, "probe/chance") == 0.125
    assert before < 0.75
    assert after > before + 0.03
    assert values(learned, "train/loss/relative_h1")[-1] < 0.97  # better than predicting the mean


# ---- its own faults


def faulty(tmp_path, name, *flags):
    return train("hjepa", tmp_path, *SMALL, "--steps", 12, "--fault", name, *flags)


def test_without_stop_gradient_the_features_collapse(tmp_path):
    # Long and fast enough to collapse.
    flags = ("--steps", 90, "--learning-rate", 1e-2, "--log-every", 15)
    broken = faulty(tmp_path, "no-stop-gradient", *flags)
    assert values(broken, "train/loss/total")[-1] < 0.05 * values(broken, "train/loss/total")[0]
    spread = values(broken, "train/collapse/level0_mean_std_per_dim")
    assert spread[-1] < 0.5 * spread[0]


def test_gradients_reach_a_target_that_was_not_frozen(tmp_path):
    broken = faulty(tmp_path, "target-gradient")
    assert (values(broken, "train/gradient_flow/target_encoder_mean") > 0).all()


def test_a_momentum_of_one_keeps_the_target_unchanged(tmp_path):
    broken = faulty(tmp_path, "ema-momentum-one")
    fresh = broken.script.new_model()
    assert torch.equal(broken.script.model.target_encoder.patches.weight, fresh.target_encoder.patches.weight)
    assert (values(broken, "train/ema/momentum_current") == 1).all()


def test_a_momentum_of_zero_makes_the_target_the_context_encoder(tmp_path):
    broken = faulty(tmp_path, "ema-momentum-zero")
    assert (values(broken, "train/ema/avg_parameter_divergence") == 0).all()


def test_masks_grow_in_the_middle_and_not_before(tmp_path, healthy):
    broken = values(faulty(tmp_path, "mask-ratio-shift"), "train/masking/mask_ratio")
    normal = values(healthy, "train/masking/mask_ratio")
    np.testing.assert_array_equal(broken[:3], normal[:3])
    assert broken[3:].min() > normal.max() + 0.1


@pytest.mark.parametrize(("name", "low", "high"), [("mask-too-much", 0.9, 1.0), ("mask-too-little", 0.0, 0.15)])
def test_masks_are_out_of_range_from_the_start(tmp_path, name, low, high):
    ratio = values(faulty(tmp_path, name), "train/masking/mask_ratio")
    assert low < ratio.min()
    assert ratio.max() < high


@pytest.mark.parametrize(("name", "level", "low", "high"), [("weights-wrong", 2, 75, 100), ("level-lost", 0, -1, 0.01)])
def test_the_share_of_a_level_differs_from_the_config(tmp_path, name, level, low, high):
    broken = faulty(tmp_path, f"hierarchy-{name}")
    share = values(broken, f"train/loss/contribution_h{level}")
    assert low < share.min()
    assert share.max() < high
    assert broken.config["hierarchy_weights"] == [1.0, 1.0, 1.0]


def test_frozen_patches_do_not_move_and_are_declared(tmp_path):
    found = faulty(tmp_path, "frozen-patches-declared")
    fresh = found.script.new_model()
    assert torch.equal(found.script.model.context_encoder.patches.weight, fresh.context_encoder.patches.weight)
    assert {"context_encoder.patches.weight", "context_encoder.patches.bias"} <= set(found.config["frozen"])


def test_features_without_a_norm_are_not_normalized_anywhere(tmp_path):
    found = faulty(tmp_path, "jepa-loss-rises")
    assert found.config["raw_targets"] is True
    lengths = found.script.model.target_encoder(found.script.val_images.pixels[:8]).norm(dim=2)
    assert lengths.std() > 0.01  # a norm would make them equal
