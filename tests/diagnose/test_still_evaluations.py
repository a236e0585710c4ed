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
