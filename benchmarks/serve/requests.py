"""Requests to a server with many runs, and many requests at once."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.harness.dashboards import pulseboard
from benchmarks.harness.log_sets import description, make_runs, run_names
from benchmarks.harness.report import Check, Part, table
from benchmarks.harness.sampling import ToolFailed
from benchmarks.serve.charts import TAG
from benchmarks.serve.load import send_load

TARGET_MS = 200.0
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
