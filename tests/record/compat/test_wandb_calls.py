"""A script that is written for W&B, with one line changed."""

import json
import subprocess
import sys

import pytest
import torch

import pulseboard as pb
import pulseboard.wandb as wandb

SCRIPT = """
import torch
import pulseboard.wandb as wandb  # the line

wandb.login()
run = wandb.init(project="demo", name="first", config={"lr": 0.1, "epochs": 2}, tags=["a"], group="g", entity="me")
config = wandb.config
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=config.lr)
wandb.watch(model, log="all", log_freq=2)
wandb.define_metric("val/acc", summary="max")
for epoch in range(config.epochs):
    loss = model(torch.ones(2, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    wandb.log({"epoch": epoch}, commit=False)
    wandb.log({"loss": loss, "val/acc": 0.5 + epoch / 10, "sample": "text"})
table = wandb.Table(columns=["a"], data=[[1]])
table.add_data(2)
wandb.log(
    {
        "table": table,
        "image": wandb.Image(torch.zeros(3, 4, 4), caption="c"),
        "h": wandb.Histogram([1.0, 2.0]),
        "cm": wandb.plot.confusion_matrix(y_true=[0, 1], preds=[0, 1], class_names=["x", "y"]),
        "html": wandb.Html("<b>x</b>"),
    }
)
artifact = wandb.Artifact("model", type="model")
with open("model.pt", "w") as file:
    file.write("weights")
artifact.add_file("model.pt")
wandb.log_artifact(artifact)
wandb.save("model.*")
wandb.alert("done", "all", level=wandb.AlertLevel.WARN)
wandb.summary["best"] = 1
wandb.run.config.update({"more": 1}, allow_val_change=True)
wandb.unwatch()
wandb.finish()
"""


def test_a_script_moves_by_one_line(tmp_path):
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    (run,) = pb.read(tmp_path / "runs").values()
    assert run.name.startswith("demo/")
    assert run.series("loss").steps.tolist() == [0, 1]
    assert run.series("epoch").steps.tolist() == [0, 1]
    assert run.series("train/gradient_flow/global_norm").steps[0] == 0
    assert {"Parameters/weight", "Gradients/weight", "h"} <= set(run.tags("histogram"))
    assert {"image", "cm"} <= set(run.tags("image"))
    assert {"sample", "table", "html", "image/caption", "alerts"} <= set(run.tags("text"))
    (path,) = (tmp_path / "runs").rglob("run.json")
    fields = json.loads(path.read_text())
    assert fields["config"]["more"] == 1
    assert fields["config"]["watch"]["optimizer"] == "SGD"
    assert fields["summary"]["val/acc"]["best"] == pytest.approx(0.6)
    assert {one["name"] for one in fields["artifacts"]} == {"model/model.pt", "model.pt"}
    assert (fields["status"], fields["project"], fields["name"], fields["group"]) == ("finished", "demo", "first", "g")


def test_an_optimizer_of_another_model_is_not_measured(tmp_path):
    with wandb.init(dir=tmp_path, telemetry_secs=0) as run:
        models = [torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)]
        optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models]
        wandb.watch(models[0], log_freq=0)
        for model, optimizer in zip(models, optimizers, strict=True):
            for _ in range(3):
                model(torch.ones(2, 4)).mean().backward()
                optimizer.step()
        wandb.unwatch()
    assert len(pb.read(tmp_path)[run.id].series("train/gradient_flow/none_share")) == 1


def test_what_is_missing_says_so():
    with pytest.raises(AttributeError, match=r"has no 'sweep'\. It has: .*init, log"):
        wandb.sweep({})
    pb.finish()
    with pytest.raises(RuntimeError, match=r"Call wandb.init\(\) first"):
        wandb.log({"x": 1.0})
