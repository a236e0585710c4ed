"""Requests to a server with many runs, and many requests at once."""

from __future__ import annotations

import json
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.harness.dashboards import Dashboard, pulseboard
from benchmarks.harness.log_sets import SMALL_STEPS, SMALL_TAGS, description, make_runs, make_small_runs, run_names
from benchmarks.harness.report import Check, Part, table
from benchmarks.harness.sampling import ToolFailed
from benchmarks.serve.charts import TAG
from benchmarks.serve.load import send_load

TARGET_MS = 200.0
TARGET_MB = 1024
# Of very many runs, those on the first chart, as on the page.
DRAWN = 100
CONNECTIONS = 64


def many_runs(logs: Path, cache: Path, *, quick: bool, rounds: int) -> Part:
    """Listing, filtering and charting a thousand runs."""
    runs, tags, steps = (20, 10, 20) if quick else (1_000, 200, 20)
    log = make_runs(logs, runs=runs, tags=tags, steps=steps)
    names = run_names(log)
    checks, samples = [], {}
    with pulseboard(log, cache=cache) as ours:
        ours.wait_for_chart(TAG, names, last_step=steps - 1)
        requests: dict[str, Callable[[], tuple[int, bytes]]] = {
            "listing the runs": lambda: ours.request("GET", "/api/runs"),
            "filtering them by a regular expression": lambda: ours.request("GET", "/api/runs?filter=_0*[13579]$"),
            "listing the tags": lambda: ours.request("GET", "/api/tags"),
            "opening a chart of all runs": lambda: ours.request_chart(TAG, names),
        }
        for label, request in requests.items():
            found = []
            for _ in range(rounds):
                began = time.perf_counter()
                status, _ = request()
                found.append(time.perf_counter() - began)
                if status != 200:
                    raise ToolFailed(f"The response to {label} was {status}.")
            samples[label] = found
            ms = 1e3 * statistics.median(found)
            target = f"under {TARGET_MS:.0f} ms"
            checks.append(Check(f"{runs} runs x {tags} tags: {label}", f"{ms:.0f} ms", target, ms < TARGET_MS))
    rows = [
        (label, f"{1e3 * statistics.median(found):.1f} ms", f"{1e3 * max(found):.1f} ms")
        for label, found in samples.items()
    ]
    return Part("Many runs", table(("request", "median", "worst"), rows), checks, samples)


def very_many_runs(logs: Path, cache: Path, *, runs: int, secs: float) -> Part:
    """What a server of very many small runs holds: with all of them listed, and while it diagnoses them."""
    log = make_small_runs(logs, runs)
    names = run_names(log)
    shutil.rmtree(cache, ignore_errors=True)
    with pulseboard(log, cache=cache) as ours:
        ours.wait_for_response()
        while len(json.loads(_identity(ours, "/api/runs"))["runs"]) < runs:
            time.sleep(0.1)
        listed_secs = time.perf_counter() - ours.began
        ours.wait_for_chart(TAG, names[:DRAWN], last_step=SMALL_STEPS - 1)
        chart_secs, listed_mb = time.perf_counter() - ours.began, ours.memory_mb()
        highest_mb, end = listed_mb, time.perf_counter() + secs
        while time.perf_counter() < end:
            time.sleep(0.5)
            highest_mb = max(highest_mb, ours.memory_mb())
        pending = len(json.loads(_identity(ours, "/api/diagnosis"))["pending"])
    check = Check(
        f"{runs:,} runs: highest memory of the server",
        f"{highest_mb:.0f} MB",
        f"under {TARGET_MB} MB",
        highest_mb < TARGET_MB,
    )
    rows = [
        ("start to every run listed, without an index", f"{listed_secs:.1f} s"),
        (f"start to a chart of {DRAWN} of them", f"{chart_secs:.1f} s"),
        ("memory then", f"{listed_mb:.0f} MB"),
        (f"highest in the {secs:.0f} s after it", f"{highest_mb:.0f} MB"),
        ("diagnosed by the end of it", f"{runs - pending:,}"),
    ]
    text = (
        f"{runs:,} runs of {SMALL_TAGS} tags x {SMALL_STEPS} steps. The server diagnoses them while it is measured.\n\n"
        + table(("what", "figure"), rows)
    )
    samples = {"listed_s": listed_secs, "chart_s": chart_secs, "listed_mb": listed_mb, "highest_mb": highest_mb}
    return Part("Very many runs", text, [check], samples)


def _identity(dashboard: Dashboard, path: str) -> bytes:
    return dashboard.request("GET", path, **{"accept-encoding": "identity"})[1]


def under_load(log: Path, cache: Path, *, secs: float) -> Part:
    """Mixed requests on many connections at once: errors, times, and whether memory grows."""
    names = run_names(log)
    with pulseboard(log, cache=cache) as ours:
        ours.wait_for_chart(TAG, names, last_step=description(log)["steps"] - 1)
        # Before memory is measured: its buffers and threads are there afterwards.
        send_load(ours.port, names, secs=min(2.0, secs), connections=CONNECTIONS)
        before = ours.memory_mb()
        result = send_load(ours.port, names, secs=secs, connections=CONNECTIONS)
        after = ours.memory_mb()
    rows = [
        ("requests per second", f"{result.responses / result.secs:.0f}"),
        ("errors", str(result.errors)),
        ("median", f"{1e3 * result.median_secs:.1f} ms"),
        ("99th percentile", f"{1e3 * result.p99_secs:.0f} ms"),
        ("memory before and after", f"{before:.0f} and {after:.0f} MB"),
    ]
    checks = [
        Check(f"{CONNECTIONS} connections for {secs:.0f} s: errors", str(result.errors), "0", result.errors == 0),
        Check("the same: memory", f"{after - before:+.0f} MB", "no growth", after < before * 1.1 + 8),
    ]
    text = "Status, runs, tags, points and windows of one to ten runs, mixed.\n\n" + table(("what", "figure"), rows)
    samples = {"responses": result.responses, "errors": result.errors, "secs": result.secs}
    return Part("Under load", text, checks, samples)
