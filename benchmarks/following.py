"""Following: what new records cost by their bytes, and what a quiet directory costs."""

from __future__ import annotations

import bisect
import json
import shutil
import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from logs import make_small_runs, only_file, record_offsets
from measure import Sample, fresh, interleaved
from plan import Plan
from report import Check, Part, table

# The large file starts with this share of set a, the small one with a hundredth of that.
LARGE, SMALL = 0.9, 0.009
# Twice as slow would mean a cost that is not the new bytes'; less than this is noise.
SLACK = 1.5
# Among many runs the few that a told poll touches are no longer in the processor's caches; a cost by the run
# would be as many times as there are runs.
AMONG_SLACK = 5.0


def measure(plan: Plan) -> Part:
    """Polls of a growing file, then polls and idleness of a directory of many runs."""
    plan.work.mkdir(parents=True, exist_ok=True)
    source = only_file(plan.data / "a")
    offsets = record_offsets(source)
    growth = _poll_growth(plan, source, offsets)
    record = source.read_bytes()[offsets[-2] : offsets[-1]].hex()
    among = {}
    for count in plan.among_runs:
        runs = make_small_runs(plan.data, count, shared=plan.shared)
        among[count] = _in_copy(plan, runs, lambda copy: fresh("poll_among", str(copy), record))
    runs = make_small_runs(plan.data, plan.followed_runs, shared=plan.shared)
    idle = {}
    for how in ("events", "looking"):
        arguments = (how, str(plan.settle_secs), str(plan.idle_secs), str(plan.look_every_secs), record)
        idle[how] = _in_copy(plan, runs, lambda copy, a=arguments: fresh("idle", str(copy), *a))
    samples = {"growth": growth, "among": among, "idle": idle}
    text = "\n\n".join(
        [
            "Milliseconds of `log.poll()` after records were appended to one file, medians of "
            f"{plan.poll_rounds} polls in each of {plan.repeat} processes. The new bytes are about 56 a record.",
            _growth_table(plan, growth),
            "Milliseconds of `log.poll()` by the number of runs in the directory, medians of 10: the cost is that of "
            "looking at every directory and file, and `told where` is a poll of the one path that an event named.",
            _among_table(among),
            f"CPU time of `log.follow()` over {plan.idle_secs:g} s in a directory of {plan.followed_runs:,} runs while "
            "nothing happens, after "
            f"{plan.settle_secs:g} s to settle; then one run grows, and the delay until that is told. The look that "
            "events make every 30 s to be safe lies outside the window and costs one idle poll.",
            _idle_table(plan, idle),
        ]
    )
    return Part("Following", text, [*_growth_checks(plan, growth), _among_check(among)], samples)


def _poll_growth(plan: Plan, source: Path, offsets: list[int]) -> dict[str, list[Sample]]:
    takes = {
        name: partial(_grow, plan, source, offsets, share=share) for name, share in (("small", SMALL), ("large", LARGE))
    }
    return interleaved(takes, repeat=dict.fromkeys(takes, plan.repeat), quiet=plan.quiet)


def _grow(plan: Plan, source: Path, offsets: list[int], *, share: float) -> Sample:
    # The record from which on the file grows: the first that begins past this share of the bytes.
    start = bisect.bisect_left(offsets, share * offsets[-1])
    pieces, at = [], start
    for records in plan.new_records * plan.poll_rounds:
        pieces.append((records, offsets[at + records] - offsets[at]))
        at += records
    with tempfile.TemporaryDirectory(dir=plan.work) as into:
        arguments = (str(source), into, str(offsets[start]), json.dumps(pieces))
        return {**fresh("poll_growth", *arguments), "start_bytes": offsets[start]}


def _in_copy(plan: Plan, runs: Path, measure_in: Callable[[Path], Sample]) -> Sample:
    """Measure in a copy of the runs, since the measurement appends to one."""
    with tempfile.TemporaryDirectory(dir=plan.work) as into:
        copy = Path(into, "runs")
        shutil.copytree(runs, copy)
        return plan.quiet.take(lambda: measure_in(copy))


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
    rows = []
    for how, sample in idle.items():
        if not sample["works"]:
            rows.append((how, "this file system tells no events", "-", "-"))
            continue
        share = sample["idle_cpu_s"] / plan.idle_secs
        rows.append((how, f"{sample['idle_cpu_s'] * 1e3:.0f}", f"{share:.2%}", f"{sample['noticed_s']:.2f}"))
    every = f"looking (every {plan.look_every_secs:g} s)"
    rows = [(every if row[0] == "looking" else row[0], *row[1:]) for row in rows]
    return table(("told by", "CPU ms", "of a core", "delay s"), rows)


def _growth_checks(plan: Plan, growth: dict[str, list[Sample]]) -> list[Check]:
    _, some, most = plan.new_records
    checks = []
    for records in (some, most):
        what = f"poll of {records:,} new records: large file over small file"
        ratio = _ms(growth, "large", records) / _ms(growth, "small", records)
        checks.append(Check(what, f"{ratio:.2f}", f"at most {SLACK:.2f}", ratio <= SLACK))
    what = f"poll of the large file: {most:,} new records over {some:,}"
    ratio = _ms(growth, "large", most) / _ms(growth, "large", some)
    return [*checks, Check(what, f"{ratio:.1f}", f"at most {10 * SLACK:.1f} (10 is linear)", ratio <= 10 * SLACK)]


def _among_check(among: dict[int, Sample]) -> Check:
    few, many = min(among), max(among)
    least, most = (statistics.median(among[n]["took_ms"]["one grown, told where"]) for n in (few, many))
    what = f"poll told where: among {many:,} runs over among {few:,}"
    return Check(what, f"{most / least:.2f}", f"at most {AMONG_SLACK:.2f}", most <= AMONG_SLACK * least)
