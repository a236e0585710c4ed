"""Ranks: which process of a distributed training this is, and how other ranks find the run that rank 0 created."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pulseboard.record.liveness import is_running, same_machine, this_process
from pulseboard.rundir import layout

# The launcher sets these to the same values in every process. Together they identify the launch.
_LAUNCH_VARIABLES = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "SLURM_JOB_ID")
# The processes of a launch start within this time of each other; an older announcement is from an earlier launch.
_SAME_LAUNCH_SECS = 60.0

_process_started = time.time()


@dataclass(frozen=True, slots=True)
class Rank:
    """This process among the processes of its training."""

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0

    @property
    def is_main(self) -> bool:
        """Whether this process writes the run."""
        return self.rank == 0


def current_rank(environment: Mapping[str, str] = os.environ) -> Rank:
    """From the variables of torchrun, accelerate, mpirun or Slurm; a single process is rank 0 of 1."""

    def number(*names: str, default: int) -> int:
        for name in names:
            if environment.get(name, "").isdigit():
                return int(environment[name])
        return default

    local_rank = number("LOCAL_RANK", default=-1)
    if not environment.get("RANK", "").isdigit() and local_rank >= 0 and number("WORLD_SIZE", default=1) > 1:
        # Lightning's own launcher sets only the rank within a node. That is enough to tell rank 0 from the others.
        node, size = number("NODE_RANK", default=0), number("LOCAL_WORLD_SIZE", default=1)
        return Rank(node * size + local_rank, number("WORLD_SIZE", default=1), local_rank)
    launched = environment.get("RANK", "").isdigit() or "OMPI_COMM_WORLD_RANK" in environment
    # Slurm sets its variables in shells and single-process jobs too: trust them only with several tasks.
    if not launched and (number("SLURM_NTASKS", default=1) < 2 or "SLURM_PROCID" not in environment):
        return Rank()
    return Rank(
        number("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", default=0),
        number("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", default=1),
        number("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", default=0),
    )


@dataclass(frozen=True, slots=True)
class AnnouncedRun:
    """The run that rank 0 records."""

    id: str
    resumed: bool


def announce_run(
    log_directory: Path,
    run: AnnouncedRun,
    *,
    nth_init: int,
    environment: Mapping[str, str] = os.environ,
) -> Path:
    """On rank 0: write down which run the `nth_init`-th call of init in this launch created or resumed."""
    path = _announcement(log_directory, nth_init, environment)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}")
    fields = {"run_id": run.id, "resumed": run.resumed, "time": time.time(), "pid": os.getpid(), **this_process()}
    temporary.write_text(json.dumps(fields), encoding="utf-8")
    os.replace(temporary, path)
    return path


def find_announced_run(
    log_directory: Path, *, nth_init: int, environment: Mapping[str, str] = os.environ
) -> AnnouncedRun | None:
    """On other ranks: the run that rank 0 created or resumed, or None if it has not done so yet."""
    try:
        fields = json.loads(_announcement(log_directory, nth_init, environment).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    # An earlier launch may have had the same port and job: its rank 0 is dead, or it announced its run long ago.
    recent = is_running(fields) if same_machine(fields) else fields["time"] > _process_started - _SAME_LAUNCH_SECS
    return AnnouncedRun(str(fields["run_id"]), bool(fields.get("resumed"))) if recent else None


def _announcement(log_directory: Path, nth_init: int, environment: Mapping[str, str]) -> Path:
    launch = "\n".join(environment.get(name, "") for name in _LAUNCH_VARIABLES)
    key = hashlib.sha256(launch.encode()).hexdigest()[:16]
    return log_directory / layout.COORDINATION_DIRECTORY / f"{key}-{nth_init}.json"
