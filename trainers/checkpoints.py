"""Checkpoints of gpt.py and moe.py: everything that the next step depends on."""

import os
from pathlib import Path

import torch
from torch import distributed

# Arguments of one start, which are not restored from a checkpoint.
NOT_RESTORED = ("resume", "run_name", "run_tag", "tensorboard_dir", "quiet", "device")


def find_checkpoints(runs: Path, which: str) -> list[Path]:
    """The checkpoints of all runs ('latest') or of one run's directory, the newest first; or the file itself."""
    if which != "latest" and Path(which).is_file():
        return [Path(which)]
    directory = runs if which == "latest" else Path(which) if Path(which).is_dir() else runs / which
    found = sorted(directory.glob("**/checkpoints/step_*.pt"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    if not found:
        raise SystemExit(f"No checkpoint to resume from (checkpoints/step_*.pt) in {directory}")
    return found[::-1]


def load_checkpoint(runs: Path, which: str, *, trainer: str, program: str | None = None) -> dict:
    """The newest checkpoint of this trainer, with its log directory as `runs` and its run's id as `run`.

    The id is None outside of a run. Runs of several trainers may share a log directory. "latest" is also that of the
    same program: train.py and train_improved.py are both gpt.py.
    """
    program = (program or trainer) if which == "latest" else None
    for path in find_checkpoints(runs, which):
        checkpoint = torch.load(path, map_location="cpu", weights_only=False)
        wrong_program = program is not None and checkpoint["args"].get("program", trainer) != program
        if checkpoint.get("trainer", trainer) == trainer and not wrong_program:
            run = path.absolute().parents[1]
            return checkpoint | {"runs": run.parent, "run": run.name if (run / "run.json").is_file() else None}
    raise SystemExit(
        f"No checkpoint to resume from: {which!r} has only those of other trainers, none of {program or trainer}.py."
    )


def save_checkpoint(directory: Path, state: dict, *, keep: int) -> None:
    """Write a temporary file and rename it, so that a job killed meanwhile keeps its previous checkpoint."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"step_{state['step']:08d}.pt"
    part = path.with_suffix(".part")
    torch.save(state, part)
    os.replace(part, path)
    for old in sorted(directory.glob("step_*.pt"))[:-keep]:
        old.unlink()


def random_states(kind: str, *, world_size: int) -> list[list[torch.Tensor]]:
    """The states of the random generators that dropout uses, one per rank."""
    state = [torch.get_rng_state(), *([torch.cuda.get_rng_state()] if kind == "cuda" else [])]
    if world_size == 1:
        return [state]
    states = [state] * world_size
    distributed.all_gather_object(states, state)
    return states


def restore_random_state(state: list[torch.Tensor]) -> None:
    """Continue with the random numbers of a checkpoint."""
    torch.set_rng_state(state[0])
    if len(state) > 1 and torch.cuda.is_available():
        torch.cuda.set_rng_state(state[1])
