"""The diffusion model learns to generate shapes, and logs every tag of its guide."""

import numpy as np
import pytest
import torch
from trained import assert_golden_losses, train, values

SMALL = (
    "--train-images",
    320,
    "--width",
    8,
    "--size",
    8,
    "--val-images",
    40,
    "--noise-steps",
    50,
    "--sampling-steps",
    5,
)
SETS = ("validation", "small_shapes", "large_shapes")
# From the guide; those of video memory need a GPU.
TAGS = """train/loss train/epoch_loss train/total_param_norm eval/eval_time_sec memory/ram_main_process_gb""".split()
TAGS += [f"{name}/loss" for name in SETS]
TAGS += [f"eval/{name}/loss_quantile_{tenth / 10:.1f}" for name in SETS for tenth in range(1, 11)]
GPU_TAGS = "memory/vram_allocated_gb memory/vram_reserved_gb memory/vram_peak_gb".split()


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    return train("diffusion", tmp_path_factory.mktemp("runs"), *SMALL, "--steps", 200, "--learning-rate", 5e-3)


def test_every_tag_of_the_guide_is_there(healthy):
    tags = TAGS + (GPU_TAGS if torch.cuda.is_available() else [])
    assert sorted(set(tags) - set(healthy.run.tags("scalar"))) == []


def test_it_learns_at_every_level_of_noise_and_on_every_set(healthy):
    for name in SETS:
        first, *_, last = values(healthy, f"{name}/loss")
        assert last < 0.55 * first, name
    for tenth in range(2, 11):  # in the first tenth there is hardly any noise to predict
        first, *_, last = values(healthy, f"eval/validation/loss_quantile_{tenth / 10:.1f}")
        assert last < 0.9 * first, tenth


def test_the_loss_starts_at_the_variance_of_the_noise(healthy):
    assert values(healthy, "train/loss")[0] == pytest.approx(1.0, abs=0.35)


def test_the_epoch_loss_is_the_mean_since_the_epoch_began(healthy):
    losses, means = values(healthy, "train/loss"), values(healthy, "train/epoch_loss")
    assert means[9] == pytest.approx(losses[:10].mean(), rel=1e-4)  # ten steps per epoch
    assert means[10] == pytest.approx(losses[10], rel=1e-4)


def test_samples_are_logged_and_are_not_noise(healthy):
    assert len(healthy.run.images("samples/drawn")) >= 5
    assert values(healthy, "samples/sharpness")[-1] > 0.2


def test_the_loss_curve_is_the_golden_one(healthy):
    assert_golden_losses(healthy, "train/loss", "diffusion", steps=40)


def test_noise_grows_from_almost_none_to_almost_all(healthy):
    signal = healthy.script.signal
    assert (signal.diff() <= 0).all()
    assert signal[0] > 0.98
    assert signal[-1] < 0.01
    pixels, noise = torch.randn(2, 1, 8, 8), torch.randn(2, 1, 8, 8)
    mixed = healthy.script.mix(pixels, torch.tensor([0, 49]), noise)
    assert (mixed[0] - pixels[0]).abs().mean() < 0.2
    assert (mixed[1] - noise[1]).abs().mean() < 0.1


def test_averaged_weights_lag_behind_the_trained_ones(healthy):
    trained, averaged = healthy.script.model.leave.weight, healthy.script.averaged.leave.weight
    assert 0 < (trained - averaged).norm() < 0.5 * trained.norm()


# ---- its own faults


def faulty(tmp_path, name, *flags):
    return train("diffusion", tmp_path, *SMALL, "--steps", 60, "--learning-rate", 5e-3, "--fault", name, *flags)


def test_a_wrong_target_makes_noisy_levels_hard(tmp_path, healthy):
    found = faulty(tmp_path, "diffusion-wrong-target")
    low, high = "eval/validation/loss_quantile_0.1", "eval/validation/loss_quantile_1.0"
    assert values(healthy, low)[-1] > values(healthy, high)[-1]
    assert values(found, low)[-1] < values(found, high)[-1]


def test_a_broken_band_shows_in_its_quantile_and_no_other(tmp_path):
    found = faulty(tmp_path, "diffusion-band-broken")
    ends = [values(found, f"eval/validation/loss_quantile_{tenth / 10:.1f}")[-1] for tenth in range(1, 11)]
    assert int(np.argmax(ends[1:])) + 1 == 4  # the band that ends at 0.5
    assert ends[4] > 1.2 * max(ends[3], ends[5])


def test_an_average_that_never_moves_gives_a_constant_validation_loss(tmp_path):
    assert len(set(values(faulty(tmp_path, "average-never-moves"), "validation/loss").tolist())) == 1


def test_a_sum_over_pixels_multiplies_the_loss(tmp_path, healthy):
    found = faulty(tmp_path, "pixel-sum")
    assert values(found, "train/loss")[0] == pytest.approx(64 * values(healthy, "train/loss")[0], rel=1e-4)
    assert values(found, "validation/loss")[0] < 2
