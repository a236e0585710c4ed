"""Speed and memory on the log sets: Pulseboard beside scan.c, the Rust loader and EventAccumulator."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import readers
from measure import Sample, WrongAnswer, fresh, interleaved, median, warm
from plan import Plan
from report import Check, Part, table

# How many times faster than the Rust loader each set is owed.
OWED_TIMES = {"a": 10.0, "b": 8.0, "c": 4.0}
OWED_OF_SCAN = 0.5
OWED_MEMORY = 0.5
# Three numbers of eight bytes, and a block's header of 16 bytes spread over its points.
OWED_HELD_BYTES = 25.0

Samples = dict[str, list[Sample]]

INTRODUCTION = """\
Warm page cache; each sample is a fresh process; the readers take turns; seconds, medians of {repeat}
(EventAccumulator: {slow_repeat}). `scan` is scan.c with one and with two threads, which share files but not one
file. `Rust` is tensorboard-data-server, every point kept, from process start to "Finished load cycle"; it verifies
no checksums, the others do. `EA` is EventAccumulator without size limits, then every series as a list. `process` is
a whole Python process that calls `pb.read(path)`, interpreter start included; `call` is the first call in it, of
which `imports` is the reader's modules; `+ arrays` is the call and then every series as NumPy arrays, NumPy's import
included. In set d (histograms) Pulseboard's load keeps where each histogram lies and `+ arrays` decodes them all,
while the other readers hold their buckets after loading: compare `+ arrays` there."""


def measure(plan: Plan, sets: dict[str, dict[str, Any]], *, scan: Path | None) -> Part:
    """Every reader on every set."""
    samples = {name: _read_set(plan, name, scan=scan) for name in sets}
    for name, found in samples.items():
        _check_answers(name, sets[name], found)
    text = "\n\n".join(
        [
            INTRODUCTION.format(repeat=plan.repeat, slow_repeat=plan.slow_repeat),
            _times(samples, sets),
            "Peak memory of the process in MB, and bytes a point (set d: a histogram's place): `held` in the columns, "
            "`process` above a process that reads nothing.",
            _memory(samples, empty_mb=_empty_mb(plan)),
        ]
    )
    checks = [check for name, found in samples.items() for check in _checks(name, found)]
    return Part("Speed and memory", text, checks, samples)


def _read_set(plan: Plan, name: str, *, scan: Path | None) -> Samples:
    path = plan.data / name
    warm(path)
    takes: dict[str, Callable[[], Sample]] = {}
    if scan is not None:
        takes["scan_1"] = partial(readers.scan, scan, path, threads=1)
        takes["scan_2"] = partial(readers.scan, scan, path, threads=2)
    takes["rust"] = partial(readers.rust_loader, path)
    takes["load"] = partial(fresh, "load", str(path))
    takes["arrays"] = partial(fresh, "arrays", str(path))
    takes["held"] = partial(fresh, "held", str(path))
    repeat = dict.fromkeys(takes, plan.repeat) | {"held": 1}
    if name in plan.slow_sets and plan.slow_repeat:
        takes["accumulator"] = partial(fresh, "accumulator", str(path))
        repeat["accumulator"] = plan.slow_repeat
    return interleaved(takes, repeat=repeat, quiet=plan.quiet)


def _empty_mb(plan: Plan) -> float:
    nothing = plan.work / "nothing"
    nothing.mkdir(parents=True, exist_ok=True)
    return float(plan.quiet.take(lambda: fresh("load", str(nothing)))["rss_mb"])


def _check_answers(name: str, told: dict[str, Any], found: Samples) -> None:
    """Raise WrongAnswer unless all readers found as many values, and the same sums."""
    values = told["runs"] * told["tags"] * told["steps"]
    sums: dict[str, dict[str, float]] = {"sum": {}, "bucket_sum": {}}
    for reader, samples in found.items():
        for sample in samples:
            if sample.get("values", values) != values:
                raise WrongAnswer(f"{reader} found {sample['values']} values in set {name}, which has {values}.")
            for key, by_reader in sums.items():
                if key in sample:
                    by_reader[reader] = sample[key]
    for key, by_reader in sums.items():
        # scan prints ten digits.
        if by_reader and not all(math.isclose(s, by_reader["arrays"], rel_tol=1e-9) for s in by_reader.values()):
            raise WrongAnswer(f"The readers disagree about the {key} of set {name}: {by_reader}.")


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
    ]
    rows = []
    for name, found in samples.items():
        told = sets[name]
        what = f"{name}: {told['runs']:,} x {told['tags']} x {told['steps']:,} {told['form']}"
        cells = [f"{median(found[reader], key):.3f}" if reader in found else "-" for _, reader, key in columns]
        rows.append((what, f"{told['bytes'] / 1e6:.0f}", *cells))
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
    process, call, reading = (median(found["load"], key) for key in ("process_s", "load_s", "read_s"))
    arrays = median(found["arrays"], "load_s")
    # Loading set d leaves the histograms where they are. Only with all of them decoded is the comparison a fair one.
    ways = {"+ arrays": arrays} if name == "d" else {"call": call, "call without imports": reading}
    out = []
    rust = median(found["rust"], "load_s")
    owed = OWED_TIMES.get(name)
    for way, took, due in (
        ("whole process", process, owed),
        ("call", call, owed),
        ("call without imports", reading, None),
        ("+ arrays", arrays, None),
    ):
        out.append(_at_least(f"{name}: times as fast as the Rust loader, {way}", rust / took, due, digits=1))
    if "accumulator" in found:
        slow = median(found["accumulator"], "load_s")
        out.append(_at_least(f"{name}: times as fast as EventAccumulator, + arrays", slow / arrays, None, digits=0))
    for reader, threads in (("scan_1", "1 thread"), ("scan_2", "2 threads")):
        for way, took in ways.items() if reader in found else ():
            of_scan = median(found[reader], "load_s") / took
            out.append(
                _at_least(f"{name}: of the speed of scan.c with {threads}, {way}", of_scan, OWED_OF_SCAN, digits=2)
            )
    ours, way = (found["arrays"], ", + arrays") if name == "d" else (found["load"], "")
    share = median(ours, "rss_mb") / median(found["rust"], "rss_mb")
    out.append(_at_most(f"{name}: of the Rust loader's memory{way}", share, OWED_MEMORY))
    if name != "d":
        held = found["held"][0]
        each = held["held_bytes"] / held["values"]
        out.append(_at_most(f"{name}: bytes a point held", each, OWED_HELD_BYTES))
    return out


def _at_least(what: str, figure: float, owed: float | None, *, digits: int) -> Check:
    if owed is None:
        return Check(what, f"{figure:.{digits}f}")
    return Check(what, f"{figure:.{digits}f}", f"at least {owed:.{digits}f}", figure >= owed)


def _at_most(what: str, figure: float, owed: float) -> Check:
    return Check(what, f"{figure:.2f}", f"at most {owed:.2f}", figure <= owed)
