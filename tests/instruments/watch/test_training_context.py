"""The training context in the run's configuration."""

import json

import torch
from instruments.watch.watched_training import batches, model_and_optimizer, train

import pulseboard as pb


def test_the_training_context_is_in_the_runs_config(run):
    model, _ = model_and_optimizer()
    model["encoder"].bias.requires_grad_(False)
    groups = [{"params": [model["encoder"].weight], "weight_decay": 0.1}, {"params": model["head"].parameters()}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, weight_decay=0.0)
    with pb.watch(model, optimizer, run=run, clip_norm=1.0):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(batches(1)[0]).float().mean()
        loss.backward()
        optimizer.step()
    context = json.loads((run.directory / "run.json").read_text())["config"]["watch"]
    assert context == {
        "parameters": 8 * 16 + 16 + 16 + 1,
        "trained_parameters": 8 * 16 + 16 + 1,
        "world_size": 1,
        "amp": True,
        "precision": "bfloat16",
        "clip_norm": 1.0,
        "optimizer": "AdamW",
        "param_groups": 2,
        "lr": 1e-3,
        "betas": [0.9, 0.999],
        "eps": 1e-8,
        "weight_decay": 0.1,
        "amsgrad": False,
    }


def test_the_context_of_plain_sgd_has_no_mixed_precision(run):
    model, _ = model_and_optimizer()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with pb.watch(model, optimizer, run=run):
        train(model, optimizer, batches(1))
    context = run.config["watch"]
    assert (context["optimizer"], context["momentum"], context["amp"], context["precision"]) == (
        "SGD",
        0.9,
        False,
        "float32",
    )
    assert "clip_norm" not in context
    assert "betas" not in context
