"""watch changes nothing: 27 trainings end with the same bits in every parameter, watched or not."""

import pytest
import torch
from instruments.watch.watched_training import EVERY_STEP, batches
from torch import nn

import pulseboard as pb

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, nesterov=True),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01, amsgrad=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.01),
    "adamax": lambda p: torch.optim.Adamax(p, lr=0.01),
    "nadam": lambda p: torch.optim.NAdam(p, lr=0.01),
    "lbfgs": lambda p: torch.optim.LBFGS(p, lr=0.1, max_iter=3),
}


def trained(optimizer_name, way, run=None):
    """The parameters after twelve batches, with dropout: the random numbers must be the same too."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.2), nn.LayerNorm(16), nn.Linear(16, 1))
    optimizer = OPTIMIZERS[optimizer_name](model.parameters())
    if run is not None:
        every = {**EVERY_STEP, "dead_units": 1}
        pb.watch(model, optimizer, run=run, overhead=None, every=every, histogram_interval=3, dead_units=True)
    data = iter(batches(12))
    for x in data:
        inputs = [x, next(data)] if way == "accumulated" else [x]

        def closure(inputs=inputs):
            optimizer.zero_grad()
            for one in inputs:
                loss = (model(one) - one.sum(1, keepdim=True)).square().mean()
                loss.backward()
            if way == "clipped":
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            return loss

        if optimizer_name == "lbfgs":
            optimizer.step(closure)
        else:
            closure()
            optimizer.step()
    return [p.detach().clone() for p in model.parameters()]


@pytest.mark.parametrize("way", ["plain", "accumulated", "clipped"])
@pytest.mark.parametrize("optimizer_name", OPTIMIZERS)
def test_a_watched_training_is_the_same_to_the_bit(run, optimizer_name, way):
    plain, watched = trained(optimizer_name, way), trained(optimizer_name, way, run)
    assert all(p.isfinite().all() for p in plain)
    assert all(torch.equal(a, b) for a, b in zip(plain, watched, strict=True))
