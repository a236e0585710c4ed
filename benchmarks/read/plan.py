"""The plan of one run of the reading benchmark: which logs, how large, how often."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.paths import LOGS, QUICK_LOGS, WORK
from benchmarks.harness.sampling import Quiet


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured. `full_plan` gives figures to publish, `quick_plan` only shows that everything runs."""

    logs: Path  # the log sets are made and kept here
    quiet: Quiet
    scale: float  # of the sets' steps
    repeat: int
    slow_repeat: int  # of EventAccumulator
    slow_sets: tuple[str, ...]  # the sets that EventAccumulator reads
    run_counts: tuple[int, ...]  # directories of small runs, each with twice the runs of the one before
    poll_run_counts: tuple[int, ...]  # directories in which one run grows, ascending
    followed_runs: int
    new_records: tuple[int, ...]  # appended before a poll, each ten times the one before
    poll_rounds: int
    settle_secs: float  # before idle time is measured
    idle_secs: float
    poll_every_secs: float
    work: Path = WORK

    def empty_directory(self) -> Path:
        """A directory without logs: what a process costs that reads nothing."""
        path = self.work / "empty"
        path.mkdir(parents=True, exist_ok=True)
        return path


def full_plan(quiet: Quiet, *, repeat: int, slow_repeat: int, slow_sets: tuple[str, ...]) -> Plan:
    """The plan behind docs/benchmarks.md."""
    return Plan(
        logs=LOGS,
        quiet=quiet,
        scale=1.0,
        repeat=repeat,
        slow_repeat=slow_repeat,
        slow_sets=slow_sets,
        run_counts=(2_500, 5_000, 10_000),
        poll_run_counts=(1, 100, 1_000, 10_000),
        followed_runs=1_000,
        new_records=(100, 1_000, 10_000),
        poll_rounds=9,
        settle_secs=2.0,
        idle_secs=10.0,
        poll_every_secs=5.0,  # the default of `follow`
    )


def quick_plan(quiet: Quiet) -> Plan:
    """A smoke test: a twentieth of the steps, one sample each, EventAccumulator on the smallest set only."""
    return Plan(
        logs=QUICK_LOGS,
        quiet=quiet,
        scale=0.05,
        repeat=1,
        slow_repeat=1,
        slow_sets=("d",),
        run_counts=(50, 100, 200),
        poll_run_counts=(1, 10, 50),
        followed_runs=50,
        new_records=(10, 100, 1_000),
        poll_rounds=3,
        settle_secs=0.5,
        idle_secs=0.5,
        poll_every_secs=0.5,
    )
