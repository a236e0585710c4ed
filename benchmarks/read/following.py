"""Following: what new records cost, and what a directory costs in which nothing happens."""

from __future__ import annotations

import bisect
import json
import shutil
import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.harness.event_records import only_file, record_offsets
from benchmarks.harness.log_sets import make_small_runs
from benchmarks.harness.processes import call
from benchmarks.harness.report import Check, Part, table
from benchmarks.harness.sampling import Sample, interleaved
from benchmarks.read.in_process import GIVEN_PATH
from benchmarks.read.plan import Plan
from benchmarks.read.speed import IN_PROCESS

# The large file starts with this share of set a, the small one with a hundredth of that.
LARGE, SMALL = 0.9, 0.009
# Twice as slow would mean a cost beyond that of the new bytes; less than this is noise.
SLACK = 1.5
# Among many runs the few that a poll of one path touches have left the processor's caches. If the cost grew with
# the runs, the ratio would be their number.
AMONG_SLACK = 5.0


def measure(plan: Plan) -> Part:
    """Polls of a growing file, then polls and idle time of a directory of many runs."""
    source = only_file(plan.logs / "a")
    offsets = record_offsets(source)
    growth = _poll_growth(plan, source, offsets)
    record = source.read_bytes()[offsets[-2] : offsets[-1]].hex()
    among = {}
    for count in plan.poll_run_counts:
        runs = make_small_runs(plan.logs, count)
        among[count] = _in_copy(plan, runs, lambda copy: call(IN_PROCESS, "poll_among", str(copy), record))
    runs = make_small_runs(plan.logs, plan.followed_runs)
    idle = {}
    for mode in ("events", "polling"):
        arguments = (mode, str(plan.settle_secs), str(plan.idle_secs), str(plan.poll_every_secs), record)
        idle[mode] = _in_copy(plan, runs, lambda copy, a=arguments: call(IN_PROCESS, "idle", str(copy), *a))
    text = "\n\n".join(
        [
            "Milliseconds of `runs.poll()` after records were appended to one file, medians of "
            f"{plan.poll_rounds} polls in each of {plan.repeat} processes. A record has about 56 bytes.",
            _growth_table(plan, growth),
            "Milliseconds of `runs.poll()` by the number of runs in the directory, medians of 10. A poll checks every "
            f"directory and file; `{GIVEN_PATH}` is a poll of the one path that a file-system event named.",
            _among_table(among),
            f"CPU time of `runs.follow()` over {plan.idle_secs:g} s in a directory of {plan.followed_runs:,} runs "
            f"while nothing happens, after {plan.settle_secs:g} s to settle; then one run grows, and the delay is the "
            "time until that is reported. With events the follower still polls every 30 s to be safe; that falls "
            "outside the window and costs one idle poll.",
            _idle_table(plan, idle),
        ]
    )
    samples = {"growth": growth, "among": among, "idle": idle}
    return Part("Following", text, [*_growth_checks(plan, growth), _among_check(among)], samples)


def _poll_growth(plan: Plan, source: Path, offsets: list[int]) -> dict[str, list[Sample]]:
    files = {
        name: partial(_grow, plan, source, offsets, share=share) for name, share in (("small", SMALL), ("large", LARGE))
    }
    return interleaved(files, repeat=dict.fromkeys(files, plan.repeat), quiet=plan.quiet)


def _grow(plan: Plan, source: Path, offsets: list[int], *, share: float) -> Sample:
    # The file grows from the first record that begins past this share of the bytes.
    start = bisect.bisect_left(offsets, share * offsets[-1])
    pieces, at = [], start
    for records in plan.new_records * plan.poll_rounds:
        pieces.append((records, offsets[at + records] - offsets[at]))
        at += records
    with tempfile.TemporaryDirectory(dir=plan.work) as directory:
        arguments = (str(source), directory, str(offsets[start]), json.dumps(pieces))
        return {**call(IN_PROCESS, "poll_growth", *arguments), "start_bytes": offsets[start]}


def _in_copy(plan: Plan, runs: Path, measure_in: Callable[[Path], Sample]) -> Sample:
    """Measure in a copy of the runs, because the measurement appends to one of them."""
    with tempfile.TemporaryDirectory(dir=plan.work) as directory:
        copy = Path(directory, "runs")
        shutil.copytree(runs, copy)
        return plan.quiet.sample(lambda: measure_in(copy))


def _ms(growth: dict[str, list[Sample]], name: str, records: int) -> float:
    return statistics.median(ms for sample in growth[name] for ms in sample["took_ms"][records])


def _growth_table(plan: Plan, growth: dict[str, list[Sample]]) -> str:
    rows = [
        (
            f"{growth[name][0]['start_bytes'] / 1e6:.1f} MB file",
            *(f"{_ms(growth, name, n):.3f}" for n in plan.new_records),
        )
        for name in growth
    ]
    return table(("new records", *(f"{n:,}" for n in plan.new_records)), rows)


def _among_table(among: dict[int, Sample]) -> str:
    names = tuple(next(iter(among.values()))["took_ms"])
    rows = [
        (f"{count:,}", *(f"{statistics.median(sample['took_ms'][name]):.3f}" for name in names))
        for count, sample in among.items()
    ]
    return table(("runs", *names), rows)


def _idle_table(plan: Plan, idle: dict[str, Sample]) -> str:
    labels = {"events": "events", "polling": f"polling (every {plan.poll_every_secs:g} s)"}
    rows = []
    for mode, sample in idle.items():
        if not sample["works"]:
            rows.append((labels[mode], "no events on this file system", "-", "-"))
            continue
        share = sample["idle_cpu_s"] / plan.idle_secs
        rows.append((labels[mode], f"{sample['idle_cpu_s'] * 1e3:.0f}", f"{share:.2%}", f"{sample['noticed_s']:.2f}"))
    return table(("notified by", "CPU ms", "share of a core", "delay s"), rows)


def _growth_checks(plan: Plan, growth: dict[str, list[Sample]]) -> list[Check]:
    _, some, many = plan.new_records
    checks = []
    for records in (some, many):
        label = f"poll of {records:,} new records: large file / small file"
        ratio = _ms(growth, "large", records) / _ms(growth, "small", records)
        checks.append(Check(label, f"{ratio:.2f}", f"at most {SLACK:.2f}", ratio <= SLACK))
    label = f"poll of the large file: {many:,} new records / {some:,}"
    ratio = _ms(growth, "large", many) / _ms(growth, "large", some)
    return [*checks, Check(label, f"{ratio:.1f}", f"at most {10 * SLACK:.1f} (10 is linear)", ratio <= 10 * SLACK)]


def _among_check(among: dict[int, Sample]) -> Check:
    few, many = min(among), max(among)
    among_few, among_many = (statistics.median(among[n]["took_ms"][GIVEN_PATH]) for n in (few, many))
    ratio = among_many / among_few
    label = f"poll of a given path: among {many:,} runs / among {few:,}"
    return Check(label, f"{ratio:.2f}", f"at most {AMONG_SLACK:.2f}", ratio <= AMONG_SLACK)
