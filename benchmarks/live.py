"""Live runs: how soon a logged point is in the stream, and what following many runs costs."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from servers import Dashboard

# One process stands for all trainings: each run logs one call a second, at its own moment of it.
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
    """What was seen."""

    waits_secs: list[float]  # from the moment a point was logged to its event
    cpu_share: float  # of one core


class _Listener:
    """Reads the stream on a thread: when each run was first told to have reached a step."""

    def __init__(self, port: int) -> None:
        self.told: dict[str, list[tuple[float, int]]] = {}
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._connection.request("GET", "/api/stream")
        self._answer = self._connection.getresponse()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError, AttributeError, http.client.HTTPException):
            for line in self._answer:
                if line.startswith(b"data: ") and b'"grown"' in line:
                    arrived = time.time()
                    for run, step in json.loads(line[6:])["grown"].items():
                        if step is not None:
                            self.told.setdefault(run, []).append((arrived, step))

    def close(self) -> None:
        if self._connection.sock is not None:
            self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._connection.close()


def follow(dashboard: Dashboard, logs: Path, *, runs: int, secs: float) -> Followed:
    """Let `runs` runs grow below `logs`, which the dashboard shows, and listen."""
    listener = _Listener(dashboard.port)
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
    for run, told in sorted(listener.told.items()):
        _, body = dashboard.request("GET", f"/api/points?run={run}&tag=train/loss", **{"accept-encoding": "identity"})
        points = json.loads(body)
        for step, logged in zip(points["steps"][1:], points["wall_times"][1:], strict=True):
            arrived = next((at for at, reached in told if reached >= step), None)
            if arrived is not None:
                waits.append(arrived - logged)
    return Followed(waits or [float("inf")], share)
