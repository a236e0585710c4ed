"""Charts over HTTP: the first after a start, one of many runs, and what it costs by the number of points."""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.harness.dashboards import PIXELS, PULSEBOARD, TENSORBOARD, Dashboard, pulseboard, tensorboard
from benchmarks.harness.log_sets import description, make_runs, run_names
from benchmarks.harness.processes import warm
from benchmarks.harness.report import Check, Part, at_least, table
from benchmarks.harness.sampling import Quiet, Sample, ToolFailed, interleaved, median

TAG = "train/loss"
TARGET_COLD, TARGET_WITH_INDEX, TARGET_CHART = 5, 10, 20


def first_chart(logs: Path, cache: Path, quiet: Quiet, *, repeat: int) -> Part:
    """From the start of the process to a complete chart."""
    names, steps = run_names(logs), description(logs)["steps"]
    warm(logs)

    def started(dashboard: Dashboard) -> Sample:
        secs = dashboard.wait_for_chart(TAG, names, last_step=steps - 1)
        return {"secs": secs, "cpu_s": dashboard.cpu_secs(), "memory_mb": dashboard.memory_mb()}

    def cold() -> Sample:
        shutil.rmtree(cache, ignore_errors=True)
        return with_index()

    def with_index() -> Sample:
        with pulseboard(logs, cache=cache) as ours:
            return started(ours)

    def theirs() -> Sample:
        with tensorboard(logs) as their:
            return started(their)

    # In this order: the cold start leaves the index that the next one finds.
    starts = {"Pulseboard, cold": cold, "Pulseboard, with its index": with_index, TENSORBOARD: theirs}
    samples = interleaved(starts, repeat=dict.fromkeys(starts, repeat), quiet=quiet)
    secs = {name: median(found, "secs") for name, found in samples.items()}
    memory = {name: median(found, "memory_mb") for name, found in samples.items()}
    rows = [(name, f"{secs[name]:.2f} s", f"{memory[name]:.0f} MB") for name in samples]
    sooner, runs = " times sooner than TensorBoard", len(names)
    checks = [
        at_least(
            f"first chart of {runs} runs, cold", secs[TENSORBOARD] / secs["Pulseboard, cold"], TARGET_COLD, unit=sooner
        ),
        at_least(
            f"first chart of {runs} runs, with its index",
            secs[TENSORBOARD] / secs["Pulseboard, with its index"],
            TARGET_WITH_INDEX,
            unit=sooner,
        ),
        Check(
            "memory then, all points kept",
            f"{memory['Pulseboard, cold']:.0f} MB, TensorBoard {memory[TENSORBOARD]:.0f} MB",
            "below TensorBoard's",
            memory["Pulseboard, cold"] < memory[TENSORBOARD],
        ),
    ]
    text = (
        f"From the start of the process to a chart of `{TAG}` over {runs} runs x {steps:,} steps, every run to its "
        "last step. TensorBoard keeps 1000 points of each series, Pulseboard all of them.\n\n"
        + table(("server", "median", "memory"), rows)
    )
    return Part("First chart", text, checks, samples)


def charts(sets: Sequence[Path], cache: Path, quiet: Quiet, *, rounds: int) -> Part:
    """One request for one chart of many runs."""
    rows, checks, all_samples = [], [], {}
    for logs in sets:
        names, steps = run_names(logs), description(logs)["steps"]
        shutil.rmtree(cache, ignore_errors=True)
        with pulseboard(logs, cache=cache) as ours, tensorboard(logs) as theirs:
            dashboards = (ours, theirs)
            for dashboard in dashboards:
                dashboard.wait_for_chart(TAG, names, last_step=steps - 1)
            requests = {dashboard.name: _chart_request(dashboard, names) for dashboard in dashboards}
            samples = interleaved(requests, repeat=dict.fromkeys(requests, rounds), quiet=quiet)
            memory = {dashboard.name: dashboard.memory_mb() for dashboard in dashboards}
        for name, found in samples.items():
            size_mb = median(found, "bytes") / 1e6
            figures = f"{1e3 * median(found, 'secs'):.1f} ms", f"{size_mb:.2f} MB", f"{memory[name]:.0f} MB"
            rows.append((f"{len(names)} x {steps:,}", name, *figures))
        ratio = median(samples[TENSORBOARD], "secs") / median(samples[PULSEBOARD], "secs")
        label = f"one chart of {len(names)} runs x {steps:,} steps at {PIXELS} pixels"
        checks.append(at_least(label, ratio, TARGET_CHART, unit=" times as fast as TensorBoard"))
        all_samples[logs.name] = samples
    text = (
        f"One request for one tag over all runs. Pulseboard's response has the first, minimum, maximum and last of "
        f"all points in each of {PIXELS} columns; TensorBoard's has its sample of 1000 points. The request accepts "
        "gzip: TensorBoard compresses, and Pulseboard sends columns uncompressed to a client on the same machine.\n\n"
        + table(("runs x steps", "server", "median", "response", "memory"), rows, text_columns=2)
    )
    return Part("Charts", text, checks, all_samples)


def _chart_request(dashboard: Dashboard, names: list[str]) -> Callable[[], Sample]:
    def request() -> Sample:
        dashboard.connect()
        before, began = dashboard.cpu_secs(), time.perf_counter()
        status, body = dashboard.request_chart(TAG, names)
        secs = time.perf_counter() - began
        if status != 200:
            raise ToolFailed(f"{dashboard.name} responded to a chart request with {status}.")
        return {"secs": secs, "cpu_s": dashboard.cpu_secs() - before, "bytes": len(body)}

    return request


def by_points(logs: Path, cache: Path, *, lengths: Sequence[int], rounds: int) -> Part:
    """One chart of longer and longer series."""
    rows, samples = [], {}
    for points in lengths:
        log = make_runs(logs, runs=1, tags=1, steps=points)
        names = run_names(log)
        with pulseboard(log, cache=cache) as ours:
            ours.wait_for_chart(TAG, names, last_step=points - 1)
            request = _chart_request(ours, names)
            found = [request()["secs"] for _ in range(rounds)]
        samples[str(points)] = found
        rows.append((f"{points:,}", f"{1e3 * statistics.median(found):.2f} ms"))
    text = f"One chart of one series at {PIXELS} pixels.\n\n" + table(("points", "median"), rows)
    return Part("Cost of a chart by points", text, [], samples)
