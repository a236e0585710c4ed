"""watch on several ranks: DDP and FSDP."""

import functools
import subprocess
import sys

import pytest
from instruments.watch.watched_training import values

import pulseboard as pb

pytestmark = pytest.mark.long

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
        launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"]
        command = [*launch, str(script), str(directory / "runs"), *MODES[processes]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr[-3000:]
        return directory / "runs"

    return train


@pytest.mark.parametrize(("mode", "processes"), [(mode, count) for count, modes in MODES.items() for mode in modes])
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
