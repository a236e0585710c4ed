"""watch with torch.compile: nothing of it is traced, so `fullgraph=True` works and the graph stays the same."""

import pytest
import torch
from instruments.watch.watched_training import EVERY_STEP, batches, logged, train
from torch import nn

import pulseboard as pb

NORM = "train/gradient_flow/global_norm"
FORWARD = "train/performance/forward_time_ms"


def sequential():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))


def compiled(model):
    torch.compiler.reset()
    return torch.compile(model, backend="eager", fullgraph=True)


def trained(run, *, watched, model, optimizer, dead_units=False):
    every = {**EVERY_STEP, "dead_units": 1}
    with pb.watch(watched, optimizer, run=run, overhead=None, every=every, histogram_interval=0, dead_units=dead_units):
        train(model, optimizer, batches(3))
    return logged(run)


@pytest.mark.parametrize("dead_units", [False, True])
@pytest.mark.parametrize("which", ["inner", "compiled"])
def test_a_full_graph_stays_whole(run, capsys, which, dead_units):
    inner = sequential()
    model = compiled(inner)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    watched = inner if which == "inner" else model
    got = trained(run, watched=watched, model=model, optimizer=optimizer, dead_units=dead_units)
    assert len(got.series(NORM)) == 3
    assert (FORWARD in got.tags("scalar")) == (which == "compiled")
    lines = capsys.readouterr().err.splitlines()
    assert sum("torch.compile" in line for line in lines) == (which == "inner" or dead_units)


class Wrapped(nn.Module):
    """torch itself cannot compile a bare Sequential in place with fullgraph=True."""

    def __init__(self):
        super().__init__()
        self.layers = sequential()

    def forward(self, x):
        return self.layers(x) * 2


def test_a_model_that_was_compiled_in_place_is_timed(run):
    model = Wrapped()
    torch.compiler.reset()
    model.compile(backend="eager", fullgraph=True)
    call = model._compiled_call_impl
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    got = trained(run, watched=model, model=model, optimizer=optimizer)
    assert len(got.series(FORWARD)) == 2  # the first step has no earlier one to measure from
    assert model._compiled_call_impl is call  # as it was before


def test_the_compiled_graph_is_the_same_with_and_without_watching(run):
    def nodes_of(watch):
        graphs = []

        def keep(graph, inputs):
            graphs.append([str(node.target) for node in graph.graph.nodes if node.op.startswith("call")])
            return graph.forward

        torch.compiler.reset()
        inner = sequential()
        model = torch.compile(inner, backend=keep, fullgraph=True)
        optimizer = torch.optim.SGD(inner.parameters(), lr=0.1)
        if watch:
            with pb.watch(inner, optimizer, run=run, dead_units=True, histogram_interval=0):
                train(model, optimizer, batches(2))
        else:
            train(model, optimizer, batches(2))
        return graphs

    (watched,), (plain,) = nodes_of(watch=True), nodes_of(watch=False)
    assert watched == plain
    assert len(plain) == 3


# Of torch itself, while it loads what it needs to trace an optimizer.
@pytest.mark.filterwarnings("ignore:.torch.jit.script_method. is deprecated:DeprecationWarning")
def test_a_compiled_step_of_the_optimizer_is_measured(run):
    model = sequential()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.compiler.reset()
    step = torch.compile(lambda: optimizer.step(), backend="eager")
    with pb.watch(model, optimizer, run=run, overhead=None, every=EVERY_STEP, histogram_interval=0):
        for x in batches(3):
            optimizer.zero_grad()
            model(x).mean().backward()
            step()
    assert len(logged(run).series(NORM)) == 3
