"""The dashboards that are measured, each as a process: how it is started, asked for a chart, and stopped."""

from __future__ import annotations

import compileall
import contextlib
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
from typing import Any
from urllib.parse import urlencode

import psutil
from measure import ReaderFailed
from report import REPOSITORY

_GIVE_UP_SECS = 300.0
_ASK_AGAIN_SECS = 0.01
PIXELS = 1000


@dataclass(slots=True)
class Dashboard:
    """A running server. `began` is the moment before its process was."""

    name: str
    process: subprocess.Popen[bytes]
    port: int
    began: float = field(default_factory=time.perf_counter)
    _connection: http.client.HTTPConnection | None = None

    def request(self, method: str, path: str, body: str | None = None, **headers: str) -> tuple[int, bytes]:
        """Status and body."""
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_GIVE_UP_SECS)
        try:
            self._connection.request(method, path, body, {"accept-encoding": "gzip", **headers})
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            self._connection = None
            raise

    def chart(self, tag: str, runs: list[str]) -> tuple[int, bytes]:
        """The request for one chart of one tag over all runs, as the page sends it."""
        if self.name == "TensorBoard":
            path = "/experiment/defaultExperimentId/data/plugin/timeseries/timeSeries"
            form = urlencode({"requests": json.dumps([{"plugin": "scalars", "tag": tag}])})
            return self.request("POST", path, form, **{"content-type": "application/x-www-form-urlencoded"})
        ask = json.dumps({"runs": runs, "tags": [tag], "buckets": PIXELS})
        return self.request("POST", "/api/window", ask, **{"content-type": "application/json"})

    def lines_in(self, body: bytes, *, last_step: int) -> int:
        """How many runs of a chart have arrived to their last step."""
        if self.name == "TensorBoard":
            import gzip

            data = json.loads(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)
            lines = data[0].get("runToSeries", {}) if data else {}
            return sum(points[-1]["step"] == last_step for points in lines.values())
        header = json.loads(body[8 : 8 + int.from_bytes(body[4:8], "little")])
        return sum(series["points"] == last_step + 1 for series in header["series"])

    def wait_for_chart(self, tag: str, runs: list[str], *, last_step: int) -> float:
        """Seconds from the start of the process to a chart that has every run to its end."""
        end = time.perf_counter() + _GIVE_UP_SECS
        while time.perf_counter() < end:
            if self.process.poll() is not None:
                raise ReaderFailed(f"{self.name} ended with {self.process.returncode}.")
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self._knows(runs):
                    status, body = self.chart(tag, runs)
                    if status == 200 and self.lines_in(body, last_step=last_step) == len(runs):
                        return time.perf_counter() - self.began
            time.sleep(_ASK_AGAIN_SECS)
        raise ReaderFailed(f"{self.name} had no complete chart after {_GIVE_UP_SECS:.0f} s.")

    def _knows(self, runs: list[str]) -> bool:
        """Whether a chart is worth asking for: TensorBoard's takes it a second, which it would lack for loading."""
        if self.name != "TensorBoard":
            return True
        status, body = self.request("GET", "/data/runs", **{"accept-encoding": "identity"})
        return status == 200 and len(json.loads(body)) >= len(runs)

    def wait_until_it_answers(self) -> None:
        """Until its first answer."""
        end = time.perf_counter() + _GIVE_UP_SECS
        while time.perf_counter() < end:
            with contextlib.suppress(OSError, http.client.HTTPException):
                self.request("GET", "/")
                return
            time.sleep(_ASK_AGAIN_SECS)
        raise ReaderFailed(f"{self.name} did not answer within {_GIVE_UP_SECS:.0f} s.")

    def _family(self) -> list[psutil.Process]:
        top = psutil.Process(self.process.pid)
        return [top, *top.children(recursive=True)]

    def memory_mb(self) -> float:
        """What the process and its helpers hold now, shared pages counted once."""
        return sum(one.memory_full_info().pss for one in self._family()) / 2**20

    def cpu_secs(self) -> float:
        """What the process and its helpers have used."""
        times = [one.cpu_times() for one in self._family()]
        return sum(t.user + t.system for t in times)


@contextlib.contextmanager
def pulseboard(logs: Path, *, cache: Path) -> Iterator[Dashboard]:
    """Ours, with its index in `cache`. Compiled to bytecode, as pip leaves what it installs, TensorBoard too."""
    compileall.compile_dir(REPOSITORY / "src" / "pulseboard", quiet=2)
    env = {**os.environ, "XDG_CACHE_HOME": str(cache), "PULSEBOARD_DATA_DIR": str(cache)}
    env.pop("SSH_CONNECTION", None)
    command = [str(Path(sys.executable).parent / "pulseboard"), str(logs)]
    with _running("Pulseboard", command, env=env) as dashboard:
        yield dashboard


@contextlib.contextmanager
def tensorboard(logs: Path) -> Iterator[Dashboard]:
    """TensorBoard as it comes, with its fast loader where that is installed."""
    command = [str(Path(sys.executable).parent / "tensorboard"), "--logdir", str(logs)]
    with _running("TensorBoard", command, env=dict(os.environ)) as dashboard:
        yield dashboard


@contextlib.contextmanager
def _running(name: str, command: list[str], *, env: dict[str, str]) -> Iterator[Dashboard]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    silent: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    began = time.perf_counter()
    process = subprocess.Popen([*command, "--port", str(port)], env=env, **silent)
    dashboard = Dashboard(name, process, port, began)
    try:
        yield dashboard
    finally:
        helpers = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for helper in helpers:
            with contextlib.suppress(psutil.NoSuchProcess):
                helper.kill()
