"""`pulseboard run --wandb` and the like: what a script gives to another logger is in the run too."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import pulseboard as pb
from pulseboard.cli import main

pytestmark = pytest.mark.early
SOURCE = str(Path(pb.__file__).parents[1])

WANDB = """
import wandb
run = wandb.init(project="p", mode="online")      # nothing is sent all the same
for step in range(5):
    wandb.log({"loss": 1.0 / (step + 1), "nested": {"acc": step / 10}, "text": "no number"})
wandb.log({"late": 1.0}, step=9)
wandb.finish()
print("mode", run.settings.mode)
"""
TENSORBOARD = """
import torch
from torch.utils.tensorboard import SummaryWriter
with SummaryWriter("own") as writer:
    for step in range(5):
        writer.add_scalar("loss", torch.tensor(1.0 / (step + 1)), step)
        print(f"step {step} loss 7.0")            # not read: the logger is seen
"""
LIGHTNING = """
import lightning, torch
class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, index):
        loss = self.layer(batch[0]).pow(2).mean()
        self.log("train/loss", loss)
        return loss
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(40, 4)), batch_size=4)
quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
lightning.Trainer(max_epochs=1, log_every_n_steps=1, accelerator="cpu", **quiet).fit(Module(), data)
"""
TRANSFORMERS = """
import torch
from transformers import Trainer, TrainingArguments
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def forward(self, x=None, labels=None):
        out = self.layer(x)
        return {"loss": (out - labels).pow(2).mean(), "logits": out}
data = [{"x": torch.randn(4), "labels": torch.zeros(1)} for _ in range(40)]
every = {"logging_steps": 3, "gradient_accumulation_steps": 2}
args = TrainingArguments("out", max_steps=6, **every, report_to=[], use_cpu=True, save_strategy="no")
Trainer(Model(), args, train_dataset=data).train()
"""


def recorded(directory, script, *options, packages):
    for package in packages:
        pytest.importorskip(package)
    (directory / "train.py").write_text(textwrap.dedent(script))
    env = {**os.environ, "PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1", "WANDB_SILENT": "true"}
    command = [sys.executable, "-m", "pulseboard", "run", *options, "--no-diagnosis", "--", sys.executable, "train.py"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, env=env, timeout=600)
    assert done.returncode == 0, done.stderr
    (run,) = pb.read(directory / "runs").values()
    return run, done


def numbers_after(word, text):
    return [float(number) for number in re.findall(rf"{word}'?: '?([-+.\de]+)", text)]


def test_wandb_is_seen_with_its_steps_and_kept_offline(tmp_path):
    run, done = recorded(tmp_path, WANDB, "--wandb", packages=["wandb"])
    assert run.series("loss").steps.tolist() == [0, 1, 2, 3, 4]
    assert run.series("loss").values.tolist() == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5])
    assert run.series("nested/acc").values.tolist() == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])
    assert run.series("late").steps.tolist() == [9]
    assert "mode offline" in done.stdout


def test_a_summary_writer_is_seen_instead_of_the_output_and_still_writes_its_file(tmp_path):
    run, done = recorded(tmp_path, TENSORBOARD, "--tensorboard", packages=["torch", "tensorboard"])
    assert run.series("loss").values.tolist() == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5])
    (own,) = pb.read(tmp_path / "own").values()
    assert own.series("loss").values.tolist() == pytest.approx(run.series("loss").values.tolist())
    assert done.stdout.count("loss 7.0") == 5


def test_a_lightning_trainer_is_seen_without_a_logger(tmp_path):
    run, _ = recorded(tmp_path, LIGHTNING, "--lightning", packages=["lightning"])
    assert len(run.series("train/loss")) == 10
    assert run.series("train/loss").steps.tolist() == sorted(set(run.series("train/loss").steps.tolist()))


def test_a_lightning_trainer_shows_the_loss_of_every_step(tmp_path):
    """Of two passes each: the mean of both, as the module's own values of each pass say."""
    script = LIGHTNING.replace("log_every_n_steps=1", "accumulate_grad_batches=2").replace(
        'self.log("train/loss", loss)', 'print("pass:", repr(loss.item()))'
    )
    run, done = recorded(tmp_path, script, "--lightning", packages=["lightning"])
    passes = numbers_after("pass", done.stdout)
    series = run.series("train/step_loss")
    assert series.steps.tolist() == [0, 1, 2, 3, 4]
    assert series.values.tolist() == pytest.approx(
        [(a + b) / 2 for a, b in zip(passes[::2], passes[1::2], strict=True)]
    )


def test_a_hugging_face_trainer_shows_the_loss_and_the_gradient_norm_of_every_step(tmp_path):
    """It prints the mean of three steps, of two passes each, and the norm of the last one."""
    run, done = recorded(tmp_path, TRANSFORMERS, "--transformers", packages=["transformers"])
    losses, norms = run.series("train/loss"), run.series("train/grad_norm")
    assert losses.steps.tolist() == norms.steps.tolist() == [1, 2, 3, 4, 5, 6]
    means = numbers_after("'loss", done.stdout)
    assert [losses.values[:3].mean(), losses.values[3:].mean()] == pytest.approx(means, rel=1e-3)
    assert [norms.values[2], norms.values[5]] == pytest.approx(numbers_after("'grad_norm", done.stdout), rel=1e-3)
    assert run.series("train/learning_rate").steps.tolist() == [3, 6]
    assert '"max_steps": 6' in run.texts("args")[-1].items[0]


def test_seeing_a_logger_without_looking_into_the_training_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--no-watch", "--wandb", "--", "true"]) == 2
    assert "--wandb needs to look inside the training" in capsys.readouterr().err
