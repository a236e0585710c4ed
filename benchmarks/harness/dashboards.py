"""The dashboards that are measured, each as a process: how to start it, request a chart from it, and stop it."""

from __future__ import annotations

import compileall
import contextlib
import gzip
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import psutil

from benchmarks.harness.command import Missing
from benchmarks.harness.paths import REPOSITORY
from benchmarks.harness.sampling import ToolFailed

PULSEBOARD, TENSORBOARD = "Pulseboard", "TensorBoard"
PIXELS = 1000
_TIMEOUT_SECS = 300.0
_RETRY_SECS = 0.01
# Servers close connections that were idle for some seconds; waiting for a quiet moment may take longer.
_KEPT_ALIVE_SECS = 1.0


@dataclass(slots=True)
class Dashboard:
    """A running server."""

    name: str
    process: subprocess.Popen[bytes]
    port: int
    began: float = field(default_factory=time.perf_counter)  # just before the process was started
    _connection: http.client.HTTPConnection | None = None
    _last_used: float = 0.0

    def connect(self) -> None:
        """Open a connection, unless there is one that the server has not had time to close."""
        if self._connection is not None and time.perf_counter() - self._last_used < _KEPT_ALIVE_SECS:
            return
        self.close()
        self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_TIMEOUT_SECS)
        self._connection.connect()

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def request(self, method: str, path: str, body: str | None = None, **headers: str) -> tuple[int, bytes]:
        """Status and body of the response."""
        self.connect()
        assert self._connection is not None
        try:
            self._connection.request(method, path, body, {"accept-encoding": "gzip", **headers})
            response = self._connection.getresponse()
            content = response.read()
            self._last_used = time.perf_counter()
            return response.status, content
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def request_chart(self, tag: str, runs: list[str]) -> tuple[int, bytes]:
        """Request one chart of one tag over all runs, as the page does."""
        if self.name == TENSORBOARD:
            path = "/experiment/defaultExperimentId/data/plugin/timeseries/timeSeries"
            form = urlencode({"requests": json.dumps([{"plugin": "scalars", "tag": tag}])})
            return self.request("POST", path, form, **{"content-type": "application/x-www-form-urlencoded"})
        query = json.dumps({"runs": runs, "tags": [tag], "buckets": PIXELS})
        return self.request("POST", "/api/window", query, **{"content-type": "application/json"})

    def complete_curves(self, body: bytes, *, last_step: int) -> int:
        """How many runs of a chart reach their last step."""
        if self.name == TENSORBOARD:
            data = json.loads(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)
            curves = data[0].get("runToSeries", {}) if data else {}
            return sum(points[-1]["step"] == last_step for points in curves.values())
        header = json.loads(body[8 : 8 + int.from_bytes(body[4:8], "little")])
        return sum(series["points"] == last_step + 1 for series in header["series"])

    def wait_for_chart(self, tag: str, runs: list[str], *, last_step: int) -> float:
        """Seconds from the start of the process to a chart that shows every run to its end."""
        end = time.perf_counter() + _TIMEOUT_SECS
        while time.perf_counter() < end:
            if self.process.poll() is not None:
                raise ToolFailed(f"{self.name} ended with {self.process.returncode}.")
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self._lists(runs):
                    status, body = self.request_chart(tag, runs)
                    if status == 200 and self.complete_curves(body, last_step=last_step) == len(runs):
                        return time.perf_counter() - self.began
            time.sleep(_RETRY_SECS)
        raise ToolFailed(f"{self.name} had no complete chart after {_TIMEOUT_SECS:.0f} s.")

    def _lists(self, runs: list[str]) -> bool:
        """Whether to request a chart yet. TensorBoard's takes a second, which would slow down its loading."""
        if self.name != TENSORBOARD:
            return True
        status, body = self.request("GET", "/data/runs", **{"accept-encoding": "identity"})
        return status == 200 and len(json.loads(body)) >= len(runs)

    def wait_for_response(self) -> None:
        """Return after its first response."""
        end = time.perf_counter() + _TIMEOUT_SECS
        while time.perf_counter() < end:
            with contextlib.suppress(OSError, http.client.HTTPException):
                self.request("GET", "/")
                return
            time.sleep(_RETRY_SECS)
        raise ToolFailed(f"{self.name} did not respond within {_TIMEOUT_SECS:.0f} s.")

    def _processes(self) -> list[psutil.Process]:
        top = psutil.Process(self.process.pid)
        return [top, *top.children(recursive=True)]

    def memory_mb(self) -> float:
        """What the process and its children hold now, shared pages counted once."""
        return sum(process.memory_full_info().pss for process in self._processes()) / 2**20

    def cpu_secs(self) -> float:
        """What the process and its children have used."""
        times = [process.cpu_times() for process in self._processes()]
        return sum(used.user + used.system for used in times)


def require_tensorboard() -> None:
    """Raise Missing unless TensorBoard can be started."""
    if not _script("tensorboard").exists():
        raise Missing("TensorBoard, which the dashboard is compared with, is missing: pip install tensorboard")


def _script(name: str) -> Path:
    return Path(sys.executable).parent / name


@contextlib.contextmanager
def pulseboard(logs: Path, *, cache: Path) -> Iterator[Dashboard]:
    """Pulseboard with its index in `cache`. Compiled to bytecode, as pip leaves packages, TensorBoard included."""
    compileall.compile_dir(REPOSITORY / "src" / "pulseboard", quiet=2)
    env = {**os.environ, "XDG_CACHE_HOME": str(cache), "PULSEBOARD_DATA_DIR": str(cache)}
    env.pop("SSH_CONNECTION", None)
    with _running(PULSEBOARD, [str(_script("pulseboard")), str(logs)], env=env) as dashboard:
        yield dashboard


@contextlib.contextmanager
def tensorboard(logs: Path) -> Iterator[Dashboard]:
    """TensorBoard with its defaults, and so with its fast loader if that is installed."""
    with _running(TENSORBOARD, [str(_script("tensorboard")), "--logdir", str(logs)], env=dict(os.environ)) as dashboard:
        yield dashboard


@contextlib.contextmanager
def _running(name: str, command: list[str], *, env: dict[str, str]) -> Iterator[Dashboard]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    began = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--port", str(port)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield Dashboard(name, process, port, began)
    finally:
        children = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for child in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
