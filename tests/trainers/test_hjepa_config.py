"""hjepa.py with the config file and the sizes of its guide."""

import json

import pytest
import torch
from config_file import flags_in
from hjepa_model import pooled

CONFIG = """
logging:
  log_dir: {log_dir}
  log_frequency: 7
  experiment_name: hjepa_run_1
  tensorboard:
    enabled: true
wandb:
  enabled: false
masking:
  num_masks: 3
  mask_scale: [0.05, 0.15]
  aspect_ratio: [0.75, 1.5]
"""


def test_the_levels_of_224_pixels_in_patches_of_16_are_14_7_and_4_a_side():
    x = torch.arange(196.0).reshape(1, 196, 1)
    assert [pooled(x, level).shape[1] for level in range(3)] == [14 * 14, 7 * 7, 4 * 4]
    corner = x.reshape(14, 14)[12:, 12:].mean()
    assert float(pooled(x, 2)[0, -1, 0]) == pytest.approx(float(corner))  # a mean over fewer patches at the edge


def test_a_config_file_sets_where_and_how_often_to_log_and_the_masks(tmp_path, monkeypatch):
    import runpy
    import sys

    from trained import ROOT

    import pulseboard as pb

    file = tmp_path / "config.yaml"
    file.write_text(CONFIG.format(log_dir=tmp_path / "results" / "logs"))
    assert flags_in(str(file))["num_masks"] == 3
    script = ROOT / "trainers" / "hjepa.py"
    flags = "--steps 15 --train-images 64 --batch-size 4 --device cpu --dim 16 --heads 2 --depth 1".split()
    monkeypatch.setattr(sys, "argv", [str(script), str(file), *flags])
    monkeypatch.setattr(sys, "path", [str(script.parent), *sys.path])
    runpy.run_path(str(script), run_name="trainer")
    logs = tmp_path / "results" / "logs"
    run = pb.read(logs)["hjepa_run_1"]
    assert run.series("train/masking/mask_ratio").steps.tolist() == [0, 7, 14]
    assert json.loads((logs / "hjepa_run_1" / "run.json").read_text())["config"]["mask_scale"] == [0.05, 0.15]
