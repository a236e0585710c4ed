"""Live runs: how soon a logged point is in the event stream, and what following many runs costs."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.dashboards import Dashboard, pulseboard
from benchmarks.harness.report import Check, Part, table

TARGET_SECS = 1.0
TARGET_CPU_SHARE = 0.1

# One process stands for all trainings: each run logs one call per second, at its own moment of it.
_WRITER = """
import sys, time
import pulseboard as pb
directory, runs, secs = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
open_runs = [pb.init(dir=directory, run_id=f"live_{i:03d}", telemetry_secs=0) for i in range(runs)]
print("ready", flush=True)
end, step = time.time() + secs, 0
while time.time() < end:
    for run in open_runs:
        run.log({"train/loss": 1.0, "train/accuracy": 0.5}, step=step)
        time.sleep(1 / runs)
    step += 1
for run in open_runs:
    run.finish()
"""


@dataclass(frozen=True, slots=True)
class Followed:
    """What was observed."""

    waits_secs: list[float]  # from the moment a point was logged to its event
    cpu_share: float  # of one core


class _StreamListener:
    """Reads the event stream on a thread, and keeps when each run was first reported to have reached a step."""

    def __init__(self, port: int) -> None:
        self.reported: dict[str, list[tuple[float, int]]] = {}
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._connection.request("GET", "/api/stream")
        self._response = self._connection.getresponse()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError, AttributeError, http.client.HTTPException):
            for line in self._response:
                if line.startswith(b"data: ") and b'"grown"' in line:
                    arrived = time.time()
                    for run, step in json.loads(line[6:])["grown"].items():
                        if step is not None:
                            self.reported.setdefault(run, []).append((arrived, step))

    def close(self) -> None:
        if self._connection.sock is not None:
            self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._connection.close()


def follow(dashboard: Dashboard, logs: Path, *, runs: int, secs: float) -> Followed:
    """Let `runs` runs grow below `logs`, which the dashboard shows, and listen."""
    listener = _StreamListener(dashboard.port)
    command = [sys.executable, "-c", _WRITER, str(logs), str(runs), str(secs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(min(2.0, secs / 4))  # new runs cost more than growing ones
        before, began = dashboard.cpu_secs(), time.perf_counter()
        writer.wait()
        share = (dashboard.cpu_secs() - before) / (time.perf_counter() - began)
    time.sleep(1.5)
    listener.close()
    waits = []
    for run, reported in sorted(listener.reported.items()):
        _, body = dashboard.request("GET", f"/api/points?run={run}&tag=train/loss", **{"accept-encoding": "identity"})
        points = json.loads(body)
        for step, logged in zip(points["steps"][1:], points["wall_times"][1:], strict=True):
            arrived = next((at for at, reached in reported if reached >= step), None)
            if arrived is not None:
                waits.append(arrived - logged)
    return Followed(waits or [float("inf")], share)


def measure(logs: Path, cache: Path, *, runs: int, secs: float) -> Part:
    """Follow many live runs at once."""
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir()
    with pulseboard(logs, cache=cache) as ours:
        ours.wait_for_response()
        followed = follow(ours, logs, runs=runs, secs=secs)
    waits = sorted(followed.waits_secs)
    median_secs, p99_secs = statistics.median(waits), waits[int(len(waits) * 0.99)]
    rows = [
        ("median delay", f"{1e3 * median_secs:.0f} ms"),
        ("99th percentile", f"{1e3 * p99_secs:.0f} ms"),
        ("points", f"{len(waits):,}"),
        ("share of a core", f"{followed.cpu_share:.1%}"),
    ]
    checks = [
        Check(
            f"{runs} live runs: delay until a point is in the stream, median of {len(waits):,}",
            f"{1e3 * median_secs:.0f} ms",
            f"under {TARGET_SECS:g} s",
            median_secs < TARGET_SECS,
        ),
        Check(
            f"following {runs} live runs",
            f"{followed.cpu_share:.1%} of a core",
            f"under {TARGET_CPU_SHARE:.0%}",
            followed.cpu_share < TARGET_CPU_SHARE,
        ),
    ]
    text = f"{runs} runs log one call per second each, with diagnosis on.\n\n" + table(("what", "figure"), rows)
    return Part("Live runs", text, checks, {"waits_secs": waits, "cpu_share": followed.cpu_share})
