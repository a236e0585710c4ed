"""watch on several ranks: DDP and FSDP."""

import functools

import pytest
from instruments.watch.watched_training import values
from ranks import run_ranks

import pulseboard as pb

pytestmark = pytest.mark.early

RANKED = """
import sys
import torch
import torch.distributed as dist
from torch import nn
import pulseboard as pb

dist.init_process_group("gloo")

def train(mode, directory):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))  # 3 does not divide evenly by 2 or 4
    plain = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    plain.load_state_dict(model.state_dict())
    if mode == "ddp":
        model = nn.parallel.DistributedDataParallel(model)
    else:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard
        shape = (dist.get_world_size(),) if mode == "fsdp" else (2, dist.get_world_size() // 2)  # hybrid: two copies
        fully_shard(model, mesh=init_device_mesh("cpu", shape, mesh_dim_names=("copies", "shards")[-len(shape):]))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    plain_optimizer = torch.optim.SGD(plain.parameters(), lr=0.1)
    run = pb.init(dir=directory, telemetry_secs=0, strict=True)
    watching = pb.watch(model, optimizer, run=run, every=1, overhead=None, histogram_interval=0)
    for step in range(4):
        x = torch.randn(4, 8, generator=torch.Generator().manual_seed(step))  # the same on every rank
        for m, o in ((model, optimizer), (plain, plain_optimizer)):
            o.zero_grad()
            m(x).square().mean().backward()
        flat = torch.cat([p.grad.flatten() for p in plain.parameters()])
        first = torch.cat([p.grad.flatten() for p in plain[0].parameters()])
        weights = torch.cat([p.detach().flatten() for p in plain.parameters()])
        run.log({"want/norm": flat.norm(), "want/zeros": (flat == 0).float().mean(), "want/mean": first.abs().mean(),
                 "want/max": first.abs().max(), "want/layer": first.norm(),
                 "want/ratio": 0.1 * flat.norm() / weights.norm(), "want/update": 0.1 * flat.abs().mean()})
        assert run.last_step == step, "watching advanced the loop's own step"
        optimizer.step()
        plain_optimizer.step()
    watching.close()
    if dist.get_rank():
        run.finish()  # first: rank 0 needs what the others measured, and does not wait for long
    dist.barrier()
    run.finish()

for mode in sys.argv[2:]:
    train(mode, f"{sys.argv[1]}/{mode}")
dist.destroy_process_group()
"""


MODES = {2: ("ddp", "fsdp"), 4: ("ddp", "fsdp", "hybrid")}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The directory of all trainings with a number of processes, which are started once: that takes longest."""

    @functools.cache
    def train(processes):
        directory = tmp_path_factory.mktemp("ranks")
        script = directory / "train.py"
        script.write_text(RANKED)
        done = run_ranks(script, directory / "runs", *MODES[processes], processes=processes)
        assert done.returncode == 0, done.stderr[-3000:]
        return directory / "runs"

    return train


@pytest.mark.parametrize(
    ("mode", "processes"),
    [
        pytest.param(mode, count, marks=[pytest.mark.long] if count > 2 else [])
        for count, modes in MODES.items()
        for mode in modes
    ],
)
def test_all_ranks_agree_on_the_norms_of_the_whole_model(trained, mode, processes):
    (run,) = pb.read(trained(processes) / mode).values()
    for tag, want in [
        ("train/gradient_flow/global_norm", "norm"),
        ("train/gradient_flow/zero_share", "zeros"),
        ("train/gradient_flow/0_mean", "mean"),
        ("train/gradient_flow/0_max", "max"),
        ("train/gradient_flow/0_norm", "layer"),
        ("train/update_ratio", "ratio"),
        ("train/learning_rate/avg_param_update", "update"),
    ]:
        assert values(run, tag) == pytest.approx(values(run, f"want/{want}"), rel=1e-4), tag
    assert sorted(run.ranks) == list(range(processes))
    for rank in range(1, processes):
        # The first step has no earlier one to measure from.
        for tag in ("rank/step_time", "rank/forward_time", "rank/data_time"):
            assert len(run.series(tag, rank=rank)) == 3, tag
        assert len(run.series("rank/memory_rss", rank=rank)) == 4
        assert (run.series("rank/memory_rss", rank=rank).values > 1e6).all()
        if mode == "ddp":
            own = run.series("rank/param_checksum", rank=rank).values
            assert own.tolist() == run.series("rank/param_checksum").values.tolist()


RANK_ZERO_ONLY = """
import os, sys
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
import pulseboard as pb

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
run = pb.init(dir=sys.argv[1], run_id=sys.argv[2], telemetry_secs=0) if rank in map(int, sys.argv[3]) else None
every = {"gradient_norm": 1, "gradient_flow": 1, "parameter_norm": 1, "update": 1, "sparsity": 1}
watching = pb.watch(model, optimizer, every=every, histogram_interval=3) if run else None
for step in range(6):
    if run and rank == 1 and step == 3:
        watching.close()  # one rank stops alone
    optimizer.zero_grad(set_to_none=False)
    model(torch.ones(4, 8)).square().mean().backward()
    clipped = nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # a DTensor, equal on all ranks
    partial = next(model.parameters()).grad.sum()  # each rank has a part: reading it would be a collective call
    if run:
        run.log({"loss": 1.0, "clipped": clipped, "partial": partial}, step=10 * step if rank == 0 else step)
    optimizer.step()
print("trained", rank, flush=True)
if run and rank:
    run.finish()
dist.barrier()
if run:
    run.finish()
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def partly_watched(tmp_path_factory):
    """Sharded trainings in which not every rank watches: what rank 0 logged, and what all printed."""

    @functools.cache
    def train(ranks):
        directory = tmp_path_factory.mktemp("partly")
        script = directory / "train.py"
        script.write_text(RANK_ZERO_ONLY)
        done = run_ranks(script, directory / "runs", "r", ranks, processes=2)
        assert done.returncode == 0, done.stderr[-3000:]
        assert done.stdout.count("trained") == 2
        return pb.read(directory / "runs")["r"], done.stderr

    return train


def test_a_sharded_model_that_only_rank_zero_watches_does_not_hang(partly_watched):
    run, messages = partly_watched("0")
    assert "train/gradient_flow/global_norm" not in run.tags("scalar")  # it would be that of a part of the model
    assert messages.count("Rank 1 does not watch, but holds part of the model") == 1
    assert len(run.series("train/learning_rate/base_lr")) == 1
    assert len(run.series("loss")) == 6


def test_a_rank_that_stops_watching_alone_does_not_hang_the_others(partly_watched):
    run, _ = partly_watched("01")
    assert len(run.series("train/gradient_flow/global_norm")) == 3
    assert len(run.series("loss")) == 6


def test_a_number_whose_parts_are_on_other_ranks_is_refused_with_advice(partly_watched):
    run, messages = partly_watched("0")
    assert len(run.series("clipped")) == 6
    assert "partial" not in run.tags("scalar")
    assert messages.count("'partial' was not logged at step 0: other ranks hold parts of this tensor") == 1
    assert "tensor.full_tensor()" in messages
