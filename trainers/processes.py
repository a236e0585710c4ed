"""Processes of a distributed training: one process per GPU, started by torchrun."""

import os

import torch
from torch import distributed


def join_processes(device: str) -> tuple[int, int, str, bool]:
    """Join the other processes, if there are any.

    Returns rank, world size, the device of this process, and whether this call created the process group.
    """
    rank, world_size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    own_group = False
    if world_size > 1:
        if device == "cuda":
            device = f"cuda:{os.environ['LOCAL_RANK']}"
            torch.cuda.set_device(device)
        if own_group := not distributed.is_initialized():
            distributed.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    return rank, world_size, device, own_group


def leave_processes(world_size: int, *, own_group: bool) -> None:
    """Wait for the other processes, and end the group if this training created it."""
    if world_size > 1:
        distributed.barrier()
        if own_group:
            distributed.destroy_process_group()
