"""The classifier learns, logs what most trainings log, and resumes where it stopped."""

import math

import numpy as np
import pytest
import torch
from image_data import SHAPES, batch_of, folder, shapes, textures
from PIL import Image
from trained import assert_golden_losses, train, values

SMALL = ("--train-images", 640, "--width", 8, "--size", 16, "--eval-every", 15)
STYLES = {
    "plain": ("train/loss", "train/accuracy", "val/loss", "val/accuracy", "train/lr", "train/grad_norm"),
    "keras": ("loss", "accuracy", "val_loss", "val_accuracy", "learning_rate", "grad_norm"),
    "lightning": ("train_loss_step", "train_acc_step", "val_loss", "val_acc", "lr-AdamW", "grad_2.0_norm_total"),
}


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    return train("classifier", tmp_path_factory.mktemp("runs"), *SMALL, "--steps", 30, "--noise", 0.2)


def test_it_starts_at_chance_and_learns(tmp_path):
    learned = train("classifier", tmp_path, *SMALL, "--steps", 150, "--noise", 0.1, "--learning-rate", 0.01)
    assert values(learned, "val/loss")[0] == pytest.approx(math.log(10), rel=0.15)
    assert values(learned, "val/loss")[-1] < 1.2
    assert values(learned, "val/accuracy")[-1] > 0.5


def test_the_loss_curve_is_the_golden_one(healthy):
    assert_golden_losses(healthy, "train/loss", "classifier")


def test_samples_and_a_confusion_table_are_logged(healthy):
    assert {"samples/train", "samples/wrong"} <= set(healthy.run.tags("image"))
    (table,) = healthy.run.texts("val/confusion")
    assert all(f"**{name}**" in table.items[0] for name in SHAPES)


def test_the_config_has_what_a_diagnosis_needs(healthy):
    want = {"num_classes": 10, "max_steps": 30, "warmup_steps": 1, "optimizer": "adamw", "clip_norm": 5.0}
    assert want.items() <= healthy.config.items()
    assert healthy.config["batch_size"] == 64
    assert "fault" not in healthy.config


@pytest.mark.parametrize("style", STYLES)
def test_metrics_have_the_tags_of_the_chosen_style(tmp_path, style):
    named = train("classifier", tmp_path, *SMALL, "--steps", 3, "--tags", style)
    assert set(STYLES[style]) <= set(named.run.tags("scalar"))
    assert values(named, STYLES[style][0]).shape == (3,)


def test_sgd_logs_under_its_own_name(tmp_path):
    named = train("classifier", tmp_path, *SMALL, "--steps", 2, "--tags", "lightning", "--optimizer", "sgd")
    assert "lr-SGD" in named.run.tags("scalar")
    assert named.config["optimizer"] == "sgd"


def test_a_resumed_run_has_the_same_losses(tmp_path):
    small = (*SMALL, "--steps", 12, "--dropout", 0, "--checkpoint-every", 7)
    whole = train("classifier", tmp_path, *small)
    before = values(whole, "train/loss").copy()
    resumed = train("classifier", tmp_path, *small, "--resume", "latest")
    assert resumed.script.parts.first_step == 7
    assert resumed.script.run.id == whole.script.run.id
    np.testing.assert_allclose(values(resumed, "train/loss"), before, rtol=1e-6)


def test_it_trains_on_a_folder_of_images(tmp_path):
    for i in range(24):
        color = ((200, 30, 30), (30, 30, 200))[i % 2]
        folder = tmp_path / "pictures" / ("red", "blue")[i % 2]
        folder.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (20, 14), color).save(folder / f"{i}.png")
    found = train(
        "classifier", tmp_path, "--images", tmp_path / "pictures", "--size", 16, "--batch-size", 4, "--steps", 4
    )
    assert found.config["num_classes"] == 2
    assert found.script.train_images.names == ("blue", "red")
    assert found.script.train_images.pixels.shape[1:] == (3, 16, 16)


def test_a_folder_without_images_is_an_error(tmp_path):
    with pytest.raises(SystemExit, match="No images"):
        folder(str(tmp_path), size=8)


def test_an_unknown_fault_lists_the_known_ones_and_leaves_no_run(tmp_path):
    with pytest.raises(SystemExit, match=r"Choose from: .*new-head-declared"):
        train("classifier", tmp_path / "runs", "--fault", "nonsense")
    assert not (tmp_path / "runs").exists()


# ---- images


def test_images_depend_only_on_the_seed():
    assert torch.equal(shapes(8, seed=3).pixels, shapes(8, seed=3).pixels)
    assert not torch.equal(shapes(8, seed=3).pixels, shapes(8, seed=4).pixels)
    assert torch.equal(textures(8, seed=3).pixels, textures(8, seed=3).pixels)


def test_every_shape_appears_and_all_look_different():
    images = shapes(400, noise=0.0, scales=(0.8, 0.8))
    assert images.labels.bincount(minlength=10).min() > 10
    bright = images.pixels.flatten(1) * images.pixels.flatten(1).amax(dim=1, keepdim=True).sign()
    means = torch.stack([bright[images.labels == i].abs().mean(dim=0) for i in range(10)])
    distances = torch.cdist(means, means) + 100 * torch.eye(10)
    assert distances.min() > 0.5


def test_a_texture_has_most_of_its_power_in_the_direction_of_its_label():
    images = textures(64, noise=0.2)
    power = torch.fft.fft2(images.pixels[:, 0]).abs().square()
    across, down = torch.fft.fftfreq(32).view(1, -1), torch.fft.fftfreq(32).view(-1, 1)
    angle = torch.atan2(down, across) % math.pi
    sectors = torch.round(angle / math.pi * 8) % 8
    strongest = torch.stack([(power * (sectors == i)).sum(dim=(1, 2)) for i in range(8)]).argmax(dim=0)
    assert (strongest == images.labels).float().mean() > 0.9


def test_an_epoch_has_every_image_once_and_the_next_has_another_order():
    images = shapes(64)
    first, second = (
        torch.cat([batch_of(images, step=epoch * 4 + i, batch_size=16, seed=0) for i in range(4)]) for epoch in (0, 1)
    )
    assert sorted(first.tolist()) == sorted(second.tolist()) == list(range(64))
    assert first.tolist() != second.tolist()


# ---- its own decoys


def test_the_labels_of_a_plateau_that_drops_need_two_properties(tmp_path):
    before = shapes(640, size=16, noise=0.5)
    found = train("classifier", tmp_path, *SMALL, "--steps", 2, "--fault", "plateau-then-drop")
    assert set(found.script.train_images.labels.tolist()) == {0, 1}
    even = before.labels % 2 == 0
    agree = (found.script.train_images.labels.bool() == even).float().mean()
    assert 0.4 < agree < 0.6  # one property alone is not enough
    assert found.run_json["notes"].startswith("Broken on purpose: plateau-then-drop")


def test_a_declared_new_head_makes_the_loss_jump_at_its_step(tmp_path, healthy):
    flags = (*SMALL, "--steps", 30, "--noise", 0.2, "--fault", "new-head-declared", "--fault-onset", 0.5)
    found = train("classifier", tmp_path, *flags)
    jumped, normal = values(found, "train/loss"), values(healthy, "train/loss")
    np.testing.assert_allclose(jumped[:16], normal[:16], rtol=1e-4)
    assert abs(jumped[16] - normal[16]) > 0.05
    assert found.config["declared_changes"] == [{"step": 15, "what": "the last layer is re-initialized"}]
