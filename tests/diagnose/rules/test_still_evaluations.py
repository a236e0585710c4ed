"""Evaluations that do not change: what a printed log with few digits says about the weights."""

import numpy as np
import pytest

import pulseboard as pb


def alarms_of(path, val_losses, *, digits=4):
    noise = 0.02 * np.random.default_rng(3).normal(size=(len(val_losses), 2))
    lines = []
    for epoch, val in enumerate(val_losses):
        lines += [f"Epoch: [{epoch}] [{i}/20] lr: 0.005 loss: {0.76 + noise[epoch, i // 10]:.4f}" for i in (0, 10)]
        lines += [f"Test: Epoch [{epoch}] loss: {val:.{digits}f}"]
    path.write_text("\n".join(lines) + "\n")
    (report,) = pb.diagnose(path)
    return {finding.slug for finding in report.findings if finding.severity != "info"}


def test_equal_evaluations_of_a_noisy_training_are_found(tmp_path):
    assert "eval-frozen" in alarms_of(tmp_path / "train.log", [0.7489] * 10)


@pytest.mark.parametrize(
    ("val_losses", "digits"),
    [
        ([0.7489] * 4, 4),  # too few
        ([0.7] * 10, 1),  # too few digits
        ([0.7489] * 9 + [0.7488], 4),
        (list(np.geomspace(0.75, 0.3, 10)), 4),
    ],
)
def test_others_are_not(tmp_path, val_losses, digits):
    assert "eval-frozen" not in alarms_of(tmp_path / "train.log", val_losses, digits=digits)


def alarms_of_epochs(path, training, validation):
    lines = [
        f"epoch {i}, train loss {one:.5f}, test loss {other:.5f}"
        for i, (one, other) in enumerate(zip(training, validation, strict=True))
    ]
    path.write_text("\n".join(lines) + "\n")
    (report,) = pb.diagnose(path)
    return {finding.slug for finding in report.findings if finding.severity != "info"}


def wobble(n, size):
    return size * np.random.default_rng(5).normal(size=n)


def test_six_epochs_show_that_nothing_is_learned_if_two_losses_agree(tmp_path):
    training, validation = 3.36 + wobble(6, 0.002), 3.37 + wobble(6, 0.0002)
    assert "loss-flat" in alarms_of_epochs(tmp_path / "log.txt", training, validation)


def test_six_epochs_of_a_training_that_learns_are_quiet(tmp_path):
    validation = np.geomspace(3.37, 2.1, 6)
    assert alarms_of_epochs(tmp_path / "log.txt", validation - 0.05, validation) == set()


def test_a_loss_that_ends_above_its_start_has_learned_nothing(tmp_path):
    training = np.array([430.0, 426, 471, *(477 + wobble(17, 1.0))])
    validation = np.array([400.0, 403, 430, *(436 + wobble(17, 0.1))])
    assert "loss-flat" in alarms_of_epochs(tmp_path / "log.txt", training, validation)


def test_evaluations_that_stop_moving_high_up_are_found(tmp_path):
    training = np.array([278.0, *(195 + wobble(19, 0.5))])
    validation = np.array([193.0, *(188.2 + wobble(19, 0.02))])
    assert "loss-plateau" in alarms_of_epochs(tmp_path / "log.txt", training, validation)


@pytest.mark.parametrize(("end", "noise"), [(20.0, 0.002), (188.2, 0.8)])
def test_they_are_not_if_the_loss_is_low_or_they_still_move(tmp_path, end, noise):
    training = np.array([278.0, *(end * 1.03 + wobble(19, 0.5))])
    validation = np.array([193.0, *(end + wobble(19, noise))])
    assert "loss-plateau" not in alarms_of_epochs(tmp_path / "log.txt", training, validation)


def test_a_turn_of_few_evaluations_must_exceed_rises_that_were_undone(tmp_path):
    training = np.array([0.74, 0.66, 0.60, 0.58, 0.59, 0.58, 0.57, 0.57, 0.56, 0.56])
    undone = np.array([0.714, 0.556, 0.574, 0.625, 0.625, 0.563, 0.532, 0.526, 0.531, 0.579])
    turned = np.array([0.714, 0.656, 0.624, 0.605, 0.585, 0.563, 0.532, 0.526, 0.551, 0.599])
    assert "overfitting" not in alarms_of_epochs(tmp_path / "log.txt", training, undone)
    assert "overfitting" in alarms_of_epochs(tmp_path / "log.txt", training, turned)


def test_waits_with_a_single_digit_are_too_coarse(tmp_path):
    def alarms(wait):
        lines = [
            f"Epoch: [{i // 10}] [{i % 10}/10] loss: {2 / (1 + i / 20):.4f} time: 0.0007 data: {wait}"
            for i in range(60)
        ]
        (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
        (report,) = pb.diagnose(tmp_path / "train.log")
        return {finding.slug for finding in report.findings if finding.severity != "info"}

    assert "data-stall" not in alarms("0.0002")
    assert "data-stall" in alarms("0.00031")
