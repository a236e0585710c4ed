"""Real servers in processes of their own, with marks and cache in a directory of the test."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from log_directories import write_run

import pulseboard as pb
from pulseboard.core.module_tree import Module, ModuleTree, Parameter


@dataclass
class Response:
    """A response, possibly an error."""

    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        return self.json["error"]["what"]


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args):
        return None


_opener = urllib.request.build_opener(_NoRedirects, urllib.request.ProxyHandler({}))


@dataclass
class Server:
    """A running server."""

    process: subprocess.Popen
    url: str
    token: str | None
    output: list = field(default_factory=list)

    @property
    def port(self):
        return int(re.search(r":(\d+)/", self.url)[1])

    def request(self, path, body=None, *, method=None, headers=None, token=None, timeout=120):
        """Send a request; `path` is relative to the server's URL."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method)
        if data is not None:
            request.add_header("content-type", "application/json")
        token = token or self.token
        if token:
            request.add_header("authorization", f"Bearer {token}")
        for name, value in (headers or {}).items():
            request.add_header(name, value)
        try:
            with _opener.open(request, timeout=timeout) as response:
                return Response(response.status, dict(response.headers), response.read())
        except urllib.error.HTTPError as error:
            with error:
                return Response(error.code, dict(error.headers), error.read())

    def api(self, path, body=None, **options):
        """Send a request to an endpoint."""
        return self.request(f"api/{path}", body, **options)

    def window(self, runs, tags, **options):
        """The series of a window by (run, tag): their header fields and their columns."""
        response = self.api("window", {"runs": runs, "tags": tags, **options})
        assert response.status == 200, response.body
        return read_columns(response.body)

    def wait_until_loaded(self):
        wait_for(lambda: self.api("status").json["loading"] is None)
        return self

    def wait_until_diagnosed(self):
        """Wait until every run has its report. Later, pages that show the runs do not change by themselves."""
        wait_for(lambda: not self.api("diagnosis").json["pending"])
        return self

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


def wait_for(condition, *, secs=120.0):
    """Wait until `condition()` is true."""
    end = time.monotonic() + secs
    while not condition():
        assert time.monotonic() < end, "the condition did not become true"
        time.sleep(0.02)


def read_columns(data):
    """Decode binary columns as docs/design/serving.md defines them."""
    assert data[:4] == b"PBC1"
    length = int.from_bytes(data[4:8], "little")
    header = json.loads(data[8 : 8 + length])
    start = (8 + length + 7) // 8 * 8
    decoded = {}
    for series in header["series"]:
        columns = {}
        for name, (offset, count, kind) in series.pop("columns").items():
            assert offset % 8 == 0
            columns[name] = np.frombuffer(data, f"<{kind}", count, start + offset)
        decoded[series.get("run", series.get("group")), series["tag"]] = (series, columns)
    return decoded


def start_server(*arguments, home, env=None, cwd=None):
    """Start `pulseboard …` in its own process, and wait until it prints its URL."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pulseboard", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={
            **{k: v for k, v in os.environ.items() if k not in ("SSH_CONNECTION", "PULSEBOARD_TOKEN")},
            "PULSEBOARD_DATA_DIR": str(home / "data"),
            "PULSEBOARD_CONFIG_DIR": str(home / "config"),
            "XDG_CACHE_HOME": str(home / "cache"),
            **(env or {}),
        },
    )
    output = []
    while line := process.stdout.readline():
        output.append(line)
        if found := re.search(r"is at (\S+)", line):
            url, _, token = found[1].partition("?token=")
            url = url.replace(re.search(r"//(.*):\d+", url)[1], "127.0.0.1")
            return Server(process, url, token or None, output)
    raise AssertionError(f"no server: {''.join(output)}{process.stderr.read()}")


@contextmanager
def a_server(directory, home, *arguments):
    server = start_server(directory, "--port", "0", *arguments, home=home)
    try:
        yield server.wait_until_loaded()
    finally:
        server.stop()


def small_model():
    """The modules of a model that shares its embedding with its output layer."""
    embedding = Parameter("weight", (10, 4), "float32", trained=True)
    tied = Parameter("weight", (10, 4), "float32", trained=True, tied_to="embedding.weight")
    modules = (
        Module("", "Tied", ()),
        Module("embedding", "Embedding", (embedding,)),
        Module("out", "Linear", (tied, Parameter("bias", (10,), "bfloat16", trained=False))),
    )
    return ModuleTree(modules, parameters=50, trained_parameters=40, left_out_modules=3)


def write_everything(directory):
    """Two runs: one of plain scalars, and one with every kind of value."""
    write_run(directory / "plain", *((step, 1 / (step + 1)) for step in range(5000)))
    with pb.init(dir=directory, run_id="rich", telemetry_secs=0, strict=True, config={"depth": 3}) as run:
        for step in range(20):
            run.log({"loss": 0.5 + step, "odd": [float("nan"), float("inf"), 1.0][step % 3]}, step=step)
            run.histogram("weights", np.linspace(-1, 1 + step, 200), step=step)
        run.image("samples", np.zeros((3, 4, 6)))
        run.audio("speech", np.zeros(100))
        run.text(
            "notes", "# Title\n\n<script>alert(1)</script> [x](javascript:alert(1)) ![i](http://far/x.png) **bold**"
        )
        run.hparams({"lr": 0.1})
        run.save_modules(small_model)


WAITING_READER = """
import os, time
from pulseboard.read.format import RunData, reader
from pulseboard.read.parsing.series_builder import SeriesBuilder

@reader(id="waiting", files=("*.waiting",))
def read_waiting(path):
    while not os.path.exists(path + ".go"):
        time.sleep(0.01)
    builder = SeriesBuilder()
    builder.add("loss", step=1, value=0.5)
    yield RunData(builder.series())
"""


def install_waiting_reader(site):
    """Write a package whose reader waits with `x.waiting` for `x.waiting.go`. Returns the variables that add it."""
    (site / "waiting-1.0.dist-info").mkdir(parents=True)
    (site / "waiting-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: waiting\nVersion: 1.0\n")
    (site / "waiting-1.0.dist-info" / "entry_points.txt").write_text("[pulseboard.readers]\nwaiting = waiting\n")
    (site / "waiting.py").write_text(WAITING_READER)
    return {"PYTHONPATH": os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])}
