"""train.py and train_improved.py: the documented names with the documented defaults."""

import json
import runpy
import sys
from unittest.mock import patch

import pytest
from trained import ROOT

import pulseboard as pb

SMALL = "--n_layer 1 --n_head 2 --n_embd 16 --block_size 16 --batch_size 4 --max_steps 6 --device cpu --quiet".split()
SMALL += "--sample_length 0 --telemetry_secs 0 --eval_iters 1".split()


@pytest.fixture
def script(tmp_path, monkeypatch, corpus):
    """Runs a trainer as `python trainers/NAME FLAGS` in an empty directory."""
    monkeypatch.chdir(tmp_path)

    def run(name, *flags):
        path = ROOT / "trainers" / name
        argv = [str(path), *SMALL, "--text", corpus, *flags]
        with patch.object(sys, "argv", argv), patch.object(sys, "path", [str(path.parent), *sys.path]):
            runpy.run_path(str(path), run_name="__main__")
        return pb.read(tmp_path)

    return run


def test_train_logs_without_flags_to_a_numbered_run(script, tmp_path):
    (name,) = script("train.py", "--run-tag", "lr-001", "--learning-rate", "0.01", "--eval-interval", "2")
    assert name.endswith("_001-lr-001")
    run = pb.read(tmp_path)[name]
    assert {"train/loss", "eval/train_loss", "eval/val_loss", "eval/learning_rate"} <= set(run.tags("scalar"))
    assert run.series("eval/val_loss").steps.tolist() == [0, 2, 4, 6]
    assert run.series("eval/learning_rate").values.tolist() == pytest.approx([0.01] * 4)
    assert list(tmp_path.glob("runs/*/logs/tensorboard/*.tfevents.*"))
    assert pb.guide(tmp_path)[0].profile == "visualization"


@pytest.mark.parametrize(("interval", "steps"), [(2, [0, 2, 4]), (0, None)])
def test_train_obeys_the_project_file(script, tmp_path, interval, steps):
    (tmp_path / "configs").mkdir()
    content = {"runs_dir": "elsewhere", "port": 6010, "histogram_interval": interval}
    (tmp_path / "configs" / "tensorboard.json").write_text(json.dumps(content))
    (run,) = script("train.py").values()
    assert (tmp_path / "elsewhere").is_dir()
    kept = run.histograms("transformer.h.0.mlp.c_fc.weight") if run.tags("histogram") else None
    assert (kept and [one.step for one in kept]) == steps


def test_train_improved_logs_only_if_asked(script, tmp_path):
    assert list(script("train_improved.py")) == []
    (run,) = script("train_improved.py", "--use_tensorboard", "--run_name", "run1", "--eval_freq", "3").values()
    assert {"Loss/train", "Loss/validation", "Evaluation/hellaswag_accuracy"} <= set(run.tags("scalar"))
    assert (tmp_path / "runs" / "run1").is_dir()
    assert all(float(epoch).is_integer() for epoch in run.series("Training/epoch").values)
    assert pb.guide(tmp_path)[0].profile == "gpt"


def test_the_project_file_in_the_repository_has_the_documented_defaults():
    content = json.loads((ROOT / "configs" / "tensorboard.json").read_text())
    assert content == {"runs_dir": "runs", "port": 6006, "histogram_interval": 100}
