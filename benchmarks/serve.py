"""The serving benchmark: the dashboard beside TensorBoard's. Part of `make bench`.

    .venv/bin/python benchmarks/serve.py --write docs/benchmarks.md
    .venv/bin/python benchmarks/serve.py --quick        a smoke test; its figures mean nothing

Both servers are started over the same logs, in turn, and asked for the same charts. The exit code is 0 when
everything was measured, 1 when a server fails, and 2 when the scripts that make the logs are missing.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import live
import load
from logs import SharedMissing, check_shared, make_runs
from measure import Quiet, ReaderFailed, Sample, interleaved, median, warm
from report import (
    REPOSITORY,
    Check,
    Part,
    checks_table,
    commit,
    machine,
    shown_path,
    table,
    today,
    versions,
    write_section,
)
from servers import Dashboard, pulseboard, tensorboard

BENCH = REPOSITORY / ".bench"
PACKAGES = ("numpy", "tensorboard", "tensorboard-data-server", "uvicorn", "uvloop", "httptools")
TAG = "train/loss"


def main() -> int:
    """Measure, print, and write where asked."""
    options = _parser().parse_args()
    try:
        check_shared(options.shared)
    except SharedMissing as error:
        print(f"benchmarks/serve.py: {error}", file=sys.stderr)
        return 2
    measured = commit()
    quiet = Quiet(wait_secs=0.0 if options.quick else options.quiet_wait, level=options.quiet_level)
    try:
        parts = _measure(options, quiet)
    except ReaderFailed as error:
        print(f"benchmarks/serve.py: {error}", file=sys.stderr)
        return 1
    body = _body(parts, quiet, measured=measured, options=options)
    print(body)
    if options.write:
        write_section(options.write, name="serve", body=body)
    (BENCH / ("serve_quick.json" if options.quick else "serve.json")).write_text(
        json.dumps({part.title: part.samples for part in parts}, indent=1)
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", metavar="FILE", help="rewrite this Markdown file's section of the benchmark")
    parser.add_argument("--quick", action="store_true", help="a smoke test on few runs, one sample each")
    parser.add_argument("--only", default="", metavar="WORD", help="only the parts with this in their name")
    parser.add_argument("--repeat", type=int, default=5, help="starts of each server, and requests in tens")
    parser.add_argument("--load-secs", type=float, default=60.0, help="how long 64 connections ask at once")
    parser.add_argument("--quiet-wait", type=float, default=30, metavar="SECS", help="wait so long for a quiet moment")
    parser.add_argument("--quiet-level", type=float, default=0.15, metavar="CORES", help="what others may use then")
    parser.add_argument("--shared", type=Path, default=REPOSITORY.parent / "shared" / "bench", metavar="DIR")
    return parser


def _measure(options: argparse.Namespace, quiet: Quiet) -> list[Part]:
    quick, shared, data = options.quick, options.shared, BENCH / "serve"
    data.mkdir(parents=True, exist_ok=True)
    _say("making the logs")
    runs, tags = (10, 5) if quick else (100, 20)
    short = make_runs(data, runs=runs, tags=tags, steps=200 if quick else 2_000, shared=shared)
    long = make_runs(data, runs=runs, tags=1, steps=2_000 if quick else 100_000, shared=shared)
    repeat = 1 if quick else options.repeat
    parts = []
    for title, measure in (
        ("the first chart", lambda: _first_chart(short, data / "cache", quiet, repeat=repeat)),
        ("charts", lambda: _charts([short, long], data / "cache", quiet, rounds=3 if quick else 10 * repeat)),
        ("growth", lambda: _growth(data, shared, rounds=3 if quick else 20, quick=quick)),
        ("many runs", lambda: _many_runs(data, shared, rounds=3 if quick else 20, quick=quick)),
        ("live runs", lambda: _live(data, runs=5 if quick else 100, secs=5.0 if quick else 60.0)),
        ("load", lambda: _load(short, data / "cache", secs=2.0 if quick else options.load_secs)),
    ):
        if options.only in title:
            _say(title)
            parts.append(measure())
    return parts


def _names(logs: Path) -> list[str]:
    return sorted(path.name for path in logs.iterdir() if path.is_dir())


def _steps(logs: Path) -> int:
    return int(json.loads(logs.with_suffix(".json").read_text())["steps"])


# ---- the first chart


def _first_chart(logs: Path, cache: Path, quiet: Quiet, *, repeat: int) -> Part:
    names, last = _names(logs), _steps(logs) - 1
    warm(logs)

    def started(dashboard: Dashboard) -> Sample:
        secs = dashboard.wait_for_chart(TAG, names, last_step=last)
        return {"secs": secs, "cpu_s": dashboard.cpu_secs(), "memory_mb": dashboard.memory_mb()}

    def cold() -> Sample:
        shutil.rmtree(cache, ignore_errors=True)
        with pulseboard(logs, cache=cache) as ours:
            return started(ours)

    def with_index() -> Sample:
        with pulseboard(logs, cache=cache) as ours:
            return started(ours)

    def theirs() -> Sample:
        with tensorboard(logs) as their:
            return started(their)

    # In this order: the cold start leaves the index that the next one finds.
    readers = {"Pulseboard, cold": cold, "Pulseboard, with its index": with_index, "TensorBoard": theirs}
    samples = interleaved(readers, repeat=dict.fromkeys(readers, repeat), quiet=quiet)
    secs = {name: median(found, "secs") for name, found in samples.items()}
    memory = {name: median(found, "memory_mb") for name, found in samples.items()}
    rows = [(name, f"{secs[name]:.2f} s", f"{memory[name]:.0f} MB") for name in samples]
    theirs_secs, runs = secs["TensorBoard"], len(names)
    checks = [
        _times(f"first chart of {runs} runs, cold", theirs_secs / secs["Pulseboard, cold"], owed=5),
        _times(
            f"first chart of {runs} runs, with its index", theirs_secs / secs["Pulseboard, with its index"], owed=10
        ),
        Check(
            "memory then, all points kept",
            f"{memory['Pulseboard, cold']:.0f} MB, TensorBoard {memory['TensorBoard']:.0f} MB",
            "below TensorBoard's",
            memory["Pulseboard, cold"] < memory["TensorBoard"],
        ),
    ]
    text = (
        f"From the start of the process to a chart of `{TAG}` over {runs} runs x {last + 1:,} steps, every run to its "
        "last step. TensorBoard keeps 1000 points of each series, Pulseboard all.\n\n"
        + table(("server", "median", "memory"), rows)
    )
    return Part("The first chart", text, checks, samples)


def _times(what: str, ratio: float, *, owed: float) -> Check:
    return Check(what, f"{ratio:.1f} times sooner than TensorBoard", f"{owed:g}", ratio >= owed)


# ---- charts


def _charts(sets: list[Path], cache: Path, quiet: Quiet, *, rounds: int) -> Part:
    rows, checks, every = [], [], {}
    for logs in sets:
        names, steps = _names(logs), _steps(logs)
        shutil.rmtree(cache, ignore_errors=True)
        with pulseboard(logs, cache=cache) as ours, tensorboard(logs) as theirs:
            boards = (ours, theirs)
            for board in boards:
                board.wait_for_chart(TAG, names, last_step=steps - 1)
            asked: dict[str, Callable[[], Sample]] = {board.name: _asking(board, names) for board in boards}
            samples = interleaved(asked, repeat=dict.fromkeys(asked, rounds), quiet=quiet)
            memory = {board.name: board.memory_mb() for board in boards}
        for name, found in samples.items():
            size = median(found, "bytes") / 1e6
            figures = f"{1e3 * median(found, 'secs'):.1f} ms", f"{size:.2f} MB", f"{memory[name]:.0f} MB"
            rows.append((f"{len(names)} x {steps:,}", name, *figures))
        ratio = median(samples["TensorBoard"], "secs") / median(samples["Pulseboard"], "secs")
        what = f"one chart of {len(names)} runs x {steps:,} steps at 1000 pixels"
        checks.append(Check(what, f"{ratio:.1f} times faster than TensorBoard", "20", ratio >= 20))
        every[logs.name] = samples
    text = (
        "One request for one tag over all runs. Ours carries first, min, max and last of all points in each of 1000 "
        "columns; TensorBoard's carries its sample of 1000 points. Asked with `Accept-Encoding: gzip`, TensorBoard "
        "compresses, and Pulseboard sends columns to a client on the same machine as they are.\n\n"
        + table(("runs x steps", "server", "median", "answer", "memory"), rows, words=2)
    )
    return Part("Charts", text, checks, every)


def _asking(board: Dashboard, names: list[str]) -> Callable[[], Sample]:
    def ask() -> Sample:
        before, began = board.cpu_secs(), time.perf_counter()
        status, body = board.chart(TAG, names)
        secs = time.perf_counter() - began
        if status != 200:
            raise ReaderFailed(f"{board.name} answered a chart with {status}.")
        return {"secs": secs, "cpu_s": board.cpu_secs() - before, "bytes": len(body)}

    return ask


# ---- growth


def _growth(data: Path, shared: Path, *, rounds: int, quick: bool) -> Part:
    rows, samples = [], {}
    for points in (1_000, 10_000) if quick else (1_000, 10_000, 100_000, 1_000_000, 10_000_000):
        logs = make_runs(data, runs=1, tags=1, steps=points, shared=shared)
        names = _names(logs)
        with pulseboard(logs, cache=data / "cache") as ours:
            ours.wait_for_chart(TAG, names, last_step=points - 1)
            ask = _asking(ours, names)
            found = [ask()["secs"] for _ in range(rounds)]
        samples[str(points)] = found
        rows.append((f"{points:,}", f"{1e3 * statistics.median(found):.2f} ms"))
    text = "One chart of one series at 1000 pixels.\n\n" + table(("points", "median"), rows)
    return Part("Cost of a chart by points", text, [], samples)


# ---- many runs


def _many_runs(data: Path, shared: Path, *, rounds: int, quick: bool) -> Part:
    runs, tags = (20, 10) if quick else (1_000, 200)
    logs = make_runs(data, runs=runs, tags=tags, steps=20, shared=shared)
    names = _names(logs)
    checks, samples = [], {}
    with pulseboard(logs, cache=data / "cache") as ours:
        ours.wait_for_chart(TAG, names, last_step=19)
        asks: dict[str, Callable[[], tuple[int, bytes]]] = {
            "listing the runs": lambda: ours.request("GET", "/api/runs"),
            "filtering them by a regular expression": lambda: ours.request("GET", "/api/runs?filter=_0*[13579]$"),
            "listing the tags": lambda: ours.request("GET", "/api/tags"),
            "opening a chart of all": lambda: ours.chart(TAG, names),
        }
        for what, ask in asks.items():
            found = []
            for _ in range(rounds):
                began = time.perf_counter()
                status, _ = ask()
                found.append(time.perf_counter() - began)
                if status != 200:
                    raise ReaderFailed(f"{what} was answered with {status}.")
            samples[what] = found
            milliseconds = 1e3 * statistics.median(found)
            checks.append(
                Check(f"{runs} runs x {tags} tags: {what}", f"{milliseconds:.0f} ms", "200 ms", milliseconds < 200)
            )
    rows = [
        (what, f"{1e3 * statistics.median(found):.1f} ms", f"{1e3 * max(found):.1f} ms")
        for what, found in samples.items()
    ]
    return Part("Many runs", table(("request", "median", "worst"), rows), checks, samples)


# ---- live runs


def _live(data: Path, *, runs: int, secs: float) -> Part:
    logs = data / "live"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir()
    with pulseboard(logs, cache=data / "cache") as ours:
        ours.wait_until_it_answers()
        followed = live.follow(ours, logs, runs=runs, secs=secs)
    waits = sorted(followed.waits_secs)
    median_secs, late_secs = statistics.median(waits), waits[int(len(waits) * 0.99)]
    rows = [
        ("median wait", f"{1e3 * median_secs:.0f} ms"),
        ("99 of 100 within", f"{1e3 * late_secs:.0f} ms"),
        ("points", f"{len(waits):,}"),
        ("of a core", f"{followed.cpu_share:.1%}"),
    ]
    checks = [
        Check(
            f"{runs} live runs: a point is in the stream, median of {len(waits):,}", rows[0][1], "1 s", median_secs < 1
        ),
        Check(f"following {runs} live runs", f"{followed.cpu_share:.1%} of a core", "10%", followed.cpu_share < 0.1),
    ]
    text = f"{runs} runs log one call a second each, diagnosis on.\n\n" + table(("what", "figure"), rows)
    return Part("Live runs", text, checks, {"waits_secs": waits, "cpu_share": followed.cpu_share})


# ---- load


def _load(logs: Path, cache: Path, *, secs: float) -> Part:
    names = _names(logs)
    with pulseboard(logs, cache=cache) as ours:
        ours.wait_for_chart(TAG, names, last_step=_steps(logs) - 1)
        load.ask_for(ours.port, names, secs=min(2.0, secs), connections=64)  # its buffers and threads are there then
        before = ours.memory_mb()
        told = load.ask_for(ours.port, names, secs=secs, connections=64)
        after = ours.memory_mb()
    rows = [("requests a second", f"{told.answers / told.secs:.0f}"), ("errors", str(told.errors))]
    rows += [("median", f"{1e3 * told.median_secs:.1f} ms"), ("99 of 100 within", f"{1e3 * told.late_secs:.0f} ms")]
    rows += [("memory before and after", f"{before:.0f} and {after:.0f} MB")]
    checks = [
        Check(f"64 connections for {secs:.0f} s: errors", str(told.errors), "0", told.errors == 0),
        Check("the same: memory", f"{after - before:+.0f} MB", "no growth", after < before * 1.1 + 8),
    ]
    text = "Status, runs, tags, points and windows of one to ten runs, mixed.\n\n" + table(("what", "figure"), rows)
    return Part("Under load", text, checks, {"answers": told.answers, "errors": told.errors, "secs": told.secs})


# ---- the report


def _body(parts: list[Part], quiet: Quiet, *, measured: str, options: argparse.Namespace) -> str:
    checks = [check for part in parts for check in part.checks]
    if options.quick:
        checks = [Check(check.what, check.figure) for check in checks]
    owed = [check for check in checks if check.holds is not None]
    failing = sum(not check.holds for check in owed)
    verdict = "Nothing is judged." if not owed else f"{failing} of {len(owed)} do not hold." if failing else "All hold."
    command = "python benchmarks/serve.py" + (" --quick" if options.quick else "")
    command += f" --write {shown_path(options.write)}" if options.write else ""
    return "\n\n".join(
        [
            "## Serving",
            *(["**A smoke test on small sets: these figures mean nothing.**"] if options.quick else []),
            f"Measured {today()} on {machine()}; {quiet.told()}.\nPulseboard at {measured}; {versions(*PACKAGES)}.\n"
            f"Command: `{command}`",
            "### What is owed",
            f"Ratios of medians of this run. {verdict}",
            checks_table(checks),
            *(block for part in parts for block in (f"### {part.title}", part.text)),
        ]
    )


def _say(line: str) -> None:
    print(f"benchmarks/serve.py: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
