"""Faults of one rank among several: `torchrun --nproc_per_node=2`."""

import time
from typing import Any

import torch

from zoo.fault import fault, follow_steps, onset_step

BASES = ("gpt", "moe")


@fault(
    "straggler",
    bases=BASES,
    cause="straggler",
    accepted=("rank-straggler", "throughput-drop"),
    onset="middle",
    visible="ranks",
    equivalent=("contention", "dataloader-bottleneck"),
    ranks=2,
)
def straggler(parts: Any) -> None:
    """The last rank is slow from the middle on, and the others wait for it."""
    if parts.run.rank.rank != parts.run.rank.world_size - 1:
        return
    healthy, onset, now = parts.loss, onset_step(parts), follow_steps(parts)

    def loss(batch: Any) -> Any:
        if now() >= onset:
            time.sleep(0.05 * parts.args.fault_strength)
        return healthy(batch)

    parts.loss = loss


@fault(
    "rank-desync",
    bases=BASES,
    cause="rank-desync",
    accepted=("rank-desync",),
    onset="middle",
    visible="ranks",
    ranks=2,
)
def rank_desync(parts: Any) -> None:
    """From the middle on, gradients are not exchanged: each rank trains its own model."""
    healthy, onset, now = parts.loss, onset_step(parts), follow_steps(parts)

    def loss(batch: Any) -> Any:
        if now() >= onset:
            parts.model.require_backward_grad_sync = False  # what DDP's no_sync() does
        return healthy(batch)

    parts.loss = loss


@fault(
    "all-reduce-loss",
    bases=BASES,
    cause="rank-desync",
    accepted=("rank-desync",),
    onset="middle",
    visible="ranks",
    equivalent=("hardware-fault",),
    ranks=2,
)
def all_reduce_loss(parts: Any) -> None:
    """At one step in a hundred, the last rank loses the gradient of one tensor."""
    if parts.run.rank.rank != parts.run.rank.world_size - 1:
        return
    healthy, onset, now = parts.clip, onset_step(parts), follow_steps(parts)
    random = torch.Generator().manual_seed(1)

    def clip() -> Any:
        lost = float(torch.rand((), generator=random)) < 0.01 * parts.args.fault_strength
        if now() == onset or (now() > onset and lost):
            with_gradient = [p for p in parts.model.parameters() if p.grad is not None]
            with_gradient[int(torch.randint(len(with_gradient), (), generator=random))].grad.zero_()
        return healthy()

    parts.clip = clip
