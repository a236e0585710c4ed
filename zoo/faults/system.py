"""Faults of timing, memory and processes."""

import os
import signal
import time
from typing import Any

import torch

from zoo.fault import EVERY_BASE, decoy, fault, onset_step

STALL_SECS = 0.05
LEAK_BYTES = 1 << 20
HANG_SECS = 90.0


@fault(
    "loader-stall",
    bases=EVERY_BASE,
    cause="dataloader-bottleneck",
    accepted=("data-stall", "throughput-drop"),
    onset="middle",
    visible="system",
    equivalent=("contention",),
)
def loader_stall(parts: Any) -> None:
    """From the middle on, every batch arrives late."""
    healthy, onset = parts.batch, onset_step(parts)

    def batch(step: int) -> Any:
        if step >= onset:
            time.sleep(STALL_SECS * parts.args.fault_strength)
        return healthy(step)

    parts.batch = batch


@fault(
    "memory-leak",
    bases=EVERY_BASE,
    cause="memory-leak",
    accepted=("memory-growth", "oom-risk"),
    visible="system",
)
def memory_leak(parts: Any) -> None:
    """Every step leaks one MiB."""
    healthy = parts.batch
    kept = parts.extra["kept"] = []

    def batch(step: int) -> Any:
        kept.append(torch.ones(int(LEAK_BYTES * parts.args.fault_strength), dtype=torch.uint8))
        return healthy(step)

    parts.batch = batch


@fault(
    "hang",
    bases=EVERY_BASE,
    cause="hardware-fault",
    accepted=("run-stalled",),
    onset="middle",
    visible="L0",
    equivalent=("dataloader-bottleneck", "straggler", "killed", "contention"),
)
def hang(parts: Any) -> None:
    """Nothing happens for a minute and a half."""
    healthy, onset = parts.batch, onset_step(parts)

    def batch(step: int) -> Any:
        if step == onset:
            time.sleep(HANG_SECS * parts.args.fault_strength)
        return healthy(step)

    parts.batch = batch


@fault(
    "checkpoint-in-loop",
    bases=EVERY_BASE,
    cause="checkpoint-in-loop",
    accepted=("step-time-periodic", "throughput-drop"),
    visible="system",
    equivalent=("dataloader-bottleneck", "contention"),
)
def checkpoint_in_loop(parts: Any) -> None:
    """Every twentieth step waits for something slow."""
    healthy = parts.step

    def step() -> None:
        healthy()
        parts.extra["steps_made"] = parts.extra.get("steps_made", 0) + 1
        if parts.extra["steps_made"] % 20 == 0:
            time.sleep(0.4 * parts.args.fault_strength)

    parts.step = step


@fault(
    "killed",
    bases=EVERY_BASE,
    cause="killed",
    accepted=("run-stalled",),
    onset="middle",
    equivalent=("hardware-fault", "memory-leak"),
)
def killed(parts: Any) -> None:
    """The process is killed, as when the system runs out of memory."""
    healthy, onset = parts.batch, onset_step(parts)

    def batch(step: int) -> Any:
        if step == onset:
            os.kill(os.getpid(), signal.SIGKILL)
        return healthy(step)

    parts.batch = batch


# ---- after a kill: --resume latest


@fault(
    "resume-without-optimizer",
    bases=("gpt", "moe"),
    cause="resume-bug",
    accepted=("resume-discontinuity", "loss-spike", "loss-level-shift", "lr-jump", "gradient-spike", "lr-horizon-off"),
    onset="middle",
    equivalent=("scheduler-bug",),
    after_kill=True,
)
def resume_without_optimizer(parts: Any) -> None:
    """Only the weights are restored: Adam's averages are lost, and the schedule restarts."""
    parts.optimizer.state.clear()
    healthy, first = parts.lr_at, parts.first_step
    parts.lr_at = lambda step: healthy(step - first)


@decoy("resume", bases=("gpt", "moe"), onset="middle", after_kill=True)
def resume(parts: Any) -> None:
    """Everything is restored: the run continues as if nothing had happened."""
