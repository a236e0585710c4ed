"""Speed and memory on the log sets: Pulseboard, the scanner, the Rust loader and EventAccumulator."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness.processes import call, warm
from benchmarks.harness.report import Check, Part, at_least, at_most, table
from benchmarks.harness.sampling import Sample, WrongResult, interleaved, median
from benchmarks.read.peers import has_event_accumulator, has_rust_loader, rust_loader
from benchmarks.read.plan import Plan
from benchmarks.read.scanner import scan

# How many times as fast as the Rust loader each set should be read.
TARGET_SPEEDUP = {"a": 12.0, "b": 8.0, "c": 5.0}
TARGET_PROCESS_SPEEDUP = {"a": 10.0, "b": 8.0, "c": 4.0}
# The same with every series as arrays; set d: with every histogram decoded.
TARGET_ARRAYS_SPEEDUP = {"a": 10.0, "b": 8.0, "c": 4.0, "d": 2.0}
TARGET_SHARE_OF_SCANNER = 0.5
TARGET_SHARE_OF_MEMORY = 0.5
# Three numbers of eight bytes, and what a column may take on top.
TARGET_HELD_BYTES = 25.0

IN_PROCESS = "benchmarks.read.in_process"

Samples = dict[str, list[Sample]]

INTRODUCTION = """\
Warm page cache; each sample is a fresh process; the readers take turns; seconds, medians of {repeat}
(EventAccumulator: {slow_repeat}). `scan` is benchmarks/read/c/scan.c, a plain C reader, with one and two threads,
which share the files but not a single file. `Rust` is tensorboard-data-server with every point kept, from process
start to "Finished load cycle"; it does not verify checksums, the others do. `EA` is EventAccumulator without size
limits, then every series as a list. `process` is a whole Python process that calls `pb.read(path)`, interpreter start
included; `call` is the first call in it, of which `imports` is the reader's modules; `+ arrays` is the call with
`arrays=True` and then every series as NumPy arrays, the import of NumPy included. `CPU` is the CPU time of `Rust` and
of `+ arrays`, all threads together; it depends less on what else the machine does. In set d (histograms) Pulseboard's
load keeps only where each histogram is and `+ arrays` decodes them all, while the other readers hold the buckets after
loading: compare `+ arrays` there."""


def measure(plan: Plan, sets: dict[str, dict[str, Any]], *, scanner: Path | None) -> Part:
    """Every reader on every set."""
    samples = {name: _read_set(plan, name, scanner=scanner) for name in sets}
    for name, found in samples.items():
        _check_results(name, sets[name], found)
    text = "\n\n".join(
        [
            INTRODUCTION.format(repeat=plan.repeat, slow_repeat=plan.slow_repeat),
            *_left_out(scanner),
            _times(samples, sets),
            "Peak memory of the process in MB, and bytes per point (set d: per histogram's location): `held` in the "
            "columns, `process` on top of a process that reads nothing.",
            _memory(samples, empty_mb=_empty_mb(plan)),
        ]
    )
    checks = [check for name, found in samples.items() for check in _checks(name, found)]
    return Part("Speed and memory", text, checks, samples)


def _left_out(scanner: Path | None) -> list[str]:
    missing = {
        "The scanner is left out: it needs gcc and an x86-64 processor.": scanner is None,
        "tensorboard-data-server is not installed.": not has_rust_loader(),
        "tensorboard is not installed.": not has_event_accumulator(),
    }
    return [line for line, absent in missing.items() if absent]


def _read_set(plan: Plan, name: str, *, scanner: Path | None) -> Samples:
    path = plan.logs / name
    warm(path)
    readers: dict[str, Callable[[], Sample]] = {}
    if scanner is not None:
        readers["scan_1"] = partial(scan, scanner, path, threads=1)
        readers["scan_2"] = partial(scan, scanner, path, threads=2)
    if has_rust_loader():
        readers["rust"] = partial(rust_loader, path)
    for way in ("load", "arrays", "held"):
        readers[way] = partial(call, IN_PROCESS, way, str(path))
    repeat = dict.fromkeys(readers, plan.repeat) | {"held": 1}
    if has_event_accumulator() and name in plan.slow_sets and plan.slow_repeat:
        readers["accumulator"] = partial(call, IN_PROCESS, "accumulator", str(path))
        repeat["accumulator"] = plan.slow_repeat
    return interleaved(readers, repeat=repeat, quiet=plan.quiet)


def _empty_mb(plan: Plan) -> float:
    empty = str(plan.empty_directory())
    return float(plan.quiet.sample(lambda: call(IN_PROCESS, "load", empty))["rss_mb"])


def _check_results(name: str, shape: dict[str, Any], found: Samples) -> None:
    """Raise WrongResult unless all readers found the same number of values, and the same sums."""
    values = shape["runs"] * shape["tags"] * shape["steps"]
    sums: dict[str, dict[str, float]] = {"sum": {}, "bucket_sum": {}}
    for reader, samples in found.items():
        for sample in samples:
            if sample.get("values", values) != values:
                raise WrongResult(f"{reader} found {sample['values']} values in set {name}, which has {values}.")
            for key, by_reader in sums.items():
                if key in sample:
                    by_reader[reader] = sample[key]
    for key, by_reader in sums.items():
        # Readers add the numbers up in different orders.
        if by_reader and not all(math.isclose(s, by_reader["arrays"], rel_tol=1e-9) for s in by_reader.values()):
            raise WrongResult(f"The readers disagree about the {key} of set {name}: {by_reader}.")


def _times(samples: dict[str, Samples], sets: dict[str, dict[str, Any]]) -> str:
    columns = [
        ("scan 1", "scan_1", "load_s"),
        ("scan 2", "scan_2", "load_s"),
        ("Rust", "rust", "load_s"),
        ("EA", "accumulator", "load_s"),
        ("process", "load", "process_s"),
        ("call", "load", "load_s"),
        ("imports", "load", "import_s"),
        ("+ arrays", "arrays", "load_s"),
        ("Rust CPU", "rust", "cpu_s"),
        ("+ arrays CPU", "arrays", "load_cpu_s"),
    ]
    rows = []
    for name, found in samples.items():
        shape = sets[name]
        label = f"{name}: {shape['runs']:,} x {shape['tags']} x {shape['steps']:,} {shape['form']}"
        cells = [f"{median(found[reader], key):.3f}" if reader in found else "-" for _, reader, key in columns]
        rows.append((label, f"{shape['bytes'] / 1e6:.0f}", *cells))
    return table(("set: runs x tags x steps", "MB", *(title for title, _, _ in columns)), rows)


def _memory(samples: dict[str, Samples], *, empty_mb: float) -> str:
    rows = []
    for name, found in samples.items():
        held = found["held"][0]
        mb = median(found["load"], "rss_mb")
        row = [name]
        for reader in ("rust", "accumulator", "load", "arrays"):
            row.append(f"{median(found[reader], 'rss_mb'):.0f}" if reader in found else "-")
        row.append(f"{held['held_bytes'] / held['values']:.2f}")
        row.append(f"{(mb - empty_mb) * 2**20 / held['values']:.1f}")
        rows.append(row)
    return table(("set", "Rust", "EA", "Pulseboard", "+ arrays", "held", "process"), rows)


def _checks(name: str, found: Samples) -> list[Check]:
    checks = [*_speedups(name, found), *_shares_of_scanner(name, found)]
    if "rust" in found:
        # Loading set d leaves the histograms in the file. Only with all of them decoded is the comparison fair.
        ours, way = (found["arrays"], ", + arrays") if name == "d" else (found["load"], "")
        share = median(ours, "rss_mb") / median(found["rust"], "rss_mb")
        checks.append(at_most(f"{name}: share of the Rust loader's memory{way}", share, TARGET_SHARE_OF_MEMORY))
    if name != "d":
        held = found["held"][0]
        per_point = held["held_bytes"] / held["values"]
        checks.append(at_most(f"{name}: bytes held per point", per_point, TARGET_HELD_BYTES))
    return checks


def _speedups(name: str, found: Samples) -> list[Check]:
    process, load, reading = (median(found["load"], key) for key in ("process_s", "load_s", "read_s"))
    arrays = median(found["arrays"], "load_s")
    what = "+ arrays" if name != "d" else "histograms decoded"
    checks = []
    if "rust" in found:
        rust = median(found["rust"], "load_s")
        for way, took, wanted in (
            ("whole process", process, TARGET_PROCESS_SPEEDUP.get(name)),
            ("call", load, TARGET_SPEEDUP.get(name)),
            ("call without imports", reading, None),
            (what, arrays, TARGET_ARRAYS_SPEEDUP.get(name)),
        ):
            checks.append(at_least(f"{name}: times as fast as the Rust loader, {way}", rust / took, wanted))
        share = median(found["rust"], "cpu_s") / median(found["arrays"], "load_cpu_s")
        checks.append(at_least(f"{name}: CPU time of the Rust loader / Pulseboard, {what}", share, None))
    if "accumulator" in found:
        slow = median(found["accumulator"], "load_s")
        checks.append(at_least(f"{name}: times as fast as EventAccumulator, + arrays", slow / arrays, None, digits=0))
    return checks


def _shares_of_scanner(name: str, found: Samples) -> list[Check]:
    if name == "d":
        ways = {"+ arrays": median(found["arrays"], "load_s")}
    else:
        ways = {"call": median(found["load"], "load_s"), "call without imports": median(found["load"], "read_s")}
    checks = []
    for reader, threads in (("scan_1", "1 thread"), ("scan_2", "2 threads")):
        for way, took in ways.items() if reader in found else ():
            share = median(found[reader], "load_s") / took
            label = f"{name}: share of the scanner's speed, {threads}, {way}"
            checks.append(at_least(label, share, TARGET_SHARE_OF_SCANNER, digits=2))
    return checks
