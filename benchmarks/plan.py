"""The plan: which logs one run of the benchmark reads, how often, and how large."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from measure import Quiet


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured. `full` gives figures to publish, `quick` only shows that everything runs."""

    data: Path  # the log sets are made and kept here
    work: Path  # files that one measurement writes and removes
    shared: Path  # make_logs.py and scan.c
    quiet: Quiet
    scale: float  # of the sets' steps
    repeat: int
    slow_repeat: int  # of EventAccumulator
    slow_sets: tuple[str, ...]  # the sets that EventAccumulator reads
    run_counts: tuple[int, ...]  # directories of small runs, rising, each twice the one before
    among_runs: tuple[int, ...]  # directories in which one run grows, rising
    followed_runs: int
    new_records: tuple[int, ...]  # appended before a poll, rising, each ten times the one before
    poll_rounds: int
    settle_secs: float  # before idleness is measured
    idle_secs: float
    look_every_secs: float


def full(bench: Path, *, shared: Path, quiet: Quiet, repeat: int, slow_repeat: int, slow_sets: tuple[str, ...]) -> Plan:
    """The plan behind docs/benchmarks.md."""
    return Plan(
        data=bench / "data",
        work=bench / "work",
        shared=shared,
        quiet=quiet,
        scale=1.0,
        repeat=repeat,
        slow_repeat=slow_repeat,
        slow_sets=slow_sets,
        run_counts=(2_500, 5_000, 10_000),
        among_runs=(1, 100, 1_000, 10_000),
        followed_runs=1_000,
        new_records=(100, 1_000, 10_000),
        poll_rounds=9,
        settle_secs=2.0,
        idle_secs=10.0,
        look_every_secs=5.0,  # the default of Log.follow
    )


def quick(bench: Path, *, shared: Path) -> Plan:
    """A smoke test: a twentieth of the steps, one sample each, EventAccumulator on the smallest set only."""
    return Plan(
        data=bench / "quick",
        work=bench / "work",
        shared=shared,
        quiet=Quiet(wait_secs=0, level=0.15),
        scale=0.05,
        repeat=1,
        slow_repeat=1,
        slow_sets=("d",),
        run_counts=(50, 100, 200),
        among_runs=(1, 10, 50),
        followed_runs=50,
        new_records=(10, 100, 1_000),
        poll_rounds=3,
        settle_secs=0.5,
        idle_secs=0.5,
        look_every_secs=0.5,
    )
