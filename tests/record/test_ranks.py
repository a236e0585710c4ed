"""The ranks of a distributed training."""

import json

import pytest
from ranks import run_ranks, torchrun
from record.recorded_runs import only, points

import pulseboard as pb
from pulseboard.record.active_run import ActiveRun
from pulseboard.record.rank import Rank, current_rank
from pulseboard.record.settings import Settings

pytestmark = pytest.mark.early


def test_the_rank_comes_from_the_launcher():
    assert current_rank({}) == Rank(0, 1, 0)
    assert current_rank({"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}) == Rank(3, 8, 1)
    assert current_rank({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}) == Rank(2, 4, 0)
    assert current_rank({"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_LOCALID": "1"}) == Rank(1, 2, 1)
    assert current_rank({"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}) == Rank(0, 1, 0)
    assert current_rank({"LOCAL_RANK": "1", "NODE_RANK": "0", "WORLD_SIZE": "2"}) == Rank(1, 2, 1)
    assert current_rank({"LOCAL_RANK": "0"}) == Rank(0, 1, 0)


RANKED = """
import sys, time
import torch.distributed as dist
import pulseboard as pb
dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    time.sleep(float(sys.argv[2]))
run = pb.init(dir=sys.argv[1], telemetry_secs=0, strict=True)
for step in range(20):
    run.log({"train/loss": 1.0 / (step + 1)}, step=step)
    run.log({"rank/step_time": float(rank)}, step=step, per_rank=True)
dist.barrier()
run.finish()
dist.destroy_process_group()
"""


def forked(script, *arguments, processes):
    return run_ranks(script, *arguments, processes=processes, optimizes=False)


@pytest.mark.parametrize(
    ("launch", "processes", "late_secs"),
    [pytest.param(torchrun, 2, 0.0, marks=pytest.mark.long), (forked, 4, 1.0)],
)
def test_several_processes_record_one_run_with_one_file_per_rank(tmp_path, launch, processes, late_secs):
    script = tmp_path / "train.py"
    script.write_text(RANKED)
    done = launch(script, tmp_path / "runs", late_secs, processes=processes)
    assert done.returncode == 0, done.stderr
    runs = [path for path in (tmp_path / "runs").iterdir() if not path.name.startswith(".")]
    assert len(runs) == 1
    assert json.loads((runs[0] / "run.json").read_text())["world_size"] == processes
    log = pb.read(tmp_path / "runs")
    run = only(log)
    assert points(run.series("train/loss"))[0] == (0, 1.0)
    assert len(run.series("train/loss")) == 20
    assert sorted(run.ranks) == list(range(processes))
    for rank in range(processes):
        assert run.series("rank/step_time", rank=rank).values.tolist() == [float(rank)] * 20
        assert log[f"{run.name}/ranks/{rank}"] is run.ranks[rank] if rank else True


def test_a_rank_that_logs_nothing_leaves_no_file(tmp_path):
    other = ActiveRun(Settings(runs_dir=str(tmp_path / "runs"), telemetry_secs=0), rank=Rank(1, 2, 1))
    other.log({"train/loss": 1.0}, step=0)
    other.finish()
    assert not (tmp_path / "runs").exists()
