"""A small training for the tests of `pb.watch`, and what it logged."""

import torch
from torch import nn

import pulseboard as pb


def model_and_optimizer(seed=0, lr=0.1):
    """A two-layer model and its optimizer."""
    """A two-layer model and its optimizer."""
    torch.manual_seed(seed)
    model = nn.ModuleDict({"encoder": nn.Linear(8, 16), "head": nn.Linear(16, 1)})
    model.forward = lambda x: model["head"](torch.relu(model["encoder"](x)))
    return model, torch.optim.SGD(model.parameters(), lr=lr)


def batches(n, seed=1):
    """The same `n` batches at every call."""
    """The same `n` batches at every call."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(4, 8, generator=generator) for _ in range(n)]


def train(model, optimizer, data, *, after_backward=None, accumulate=1):
    """A plain training loop, with gradient accumulation."""
    """A plain training loop, with gradient accumulation."""
    for i, x in enumerate(data):
        (model(x) - x.sum(1, keepdim=True)).square().mean().div(accumulate).backward()
        if (i + 1) % accumulate == 0:
            if after_backward:
                after_backward()
            optimizer.step()
            optimizer.zero_grad()


def logged(run):
    """The run, finished and read back."""
    """The run, finished and read back."""
    run.finish()
    (got,) = pb.read(run.directory.parent).values()
    return got


def values(got, tag):
    """The values of a tag."""
    """The values of a tag."""
    return got.series(tag).values.tolist()


EVERY_STEP = dict.fromkeys(
    ["gradient_norm", "gradient_flow", "parameter_norm", "update", "sparsity", "learning_rate", "performance"], 1
)
