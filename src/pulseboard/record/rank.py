"""Ranks: which of a job's processes this is, and how the others find the run that rank 0 made."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pulseboard.files import layout

# What torchrun gives every process of one launch alike. Together they name the launch.
_LAUNCH = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "SLURM_JOB_ID")
# Processes of one launch start within this of each other; a note that is older is another launch's.
_SAME_LAUNCH_SECS = 60.0

_process_started = time.time()


@dataclass(frozen=True, slots=True)
class Rank:
    """This process among those of its job."""

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0

    @property
    def is_main(self) -> bool:
        """Whether this process writes the run."""
        return self.rank == 0


def current_rank(environment: Mapping[str, str] = os.environ) -> Rank:
    """From what torchrun, accelerate, mpirun or Slurm set; a process on its own is rank 0 of 1."""

    def number(*names: str, default: int) -> int:
        for name in names:
            if environment.get(name, "").isdigit():
                return int(environment[name])
        return default

    local_rank = number("LOCAL_RANK", default=-1)
    if not environment.get("RANK", "").isdigit() and local_rank >= 0 and number("WORLD_SIZE", default=1) > 1:
        # Lightning's own launcher counts within nodes only, and says no more: enough to tell rank 0 from the rest.
        node, size = number("NODE_RANK", default=0), number("LOCAL_WORLD_SIZE", default=1)
        return Rank(node * size + local_rank, number("WORLD_SIZE", default=1), local_rank)
    launched = environment.get("RANK", "").isdigit() or "OMPI_COMM_WORLD_RANK" in environment
    # Slurm sets its variables in shells and single-process jobs too: trust them only for several tasks.
    if not launched and (number("SLURM_NTASKS", default=1) < 2 or "SLURM_PROCID" not in environment):
        return Rank()
    return Rank(
        number("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", default=0),
        number("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", default=1),
        number("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", default=0),
    )


def announce(runs_directory: Path, run_id: str, *, nth: int, environment: Mapping[str, str] = os.environ) -> Path:
    """Rank 0: leave a note that says which run this launch's `nth` call of init made."""
    path = _note(runs_directory, nth, environment)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps({"run_id": run_id, "time": time.time()}), encoding="utf-8")
    os.replace(part, path)
    return path


def announced(runs_directory: Path, *, nth: int, environment: Mapping[str, str] = os.environ) -> str | None:
    """Other ranks: the run that rank 0 made, or None while it has not said so."""
    try:
        note = json.loads(_note(runs_directory, nth, environment).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return str(note["run_id"]) if note["time"] > _process_started - _SAME_LAUNCH_SECS else None


def _note(runs_directory: Path, nth: int, environment: Mapping[str, str]) -> Path:
    launch = "\n".join(environment.get(name, "") for name in _LAUNCH)
    key = hashlib.sha256(launch.encode()).hexdigest()[:16]
    return runs_directory / layout.MEETING_PLACE / f"{key}-{nth}.json"
