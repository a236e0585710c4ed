"""Attacks that once jammed the whole interface: other requests are answered, and a signal ends the process."""

import contextlib
import http.client
import os
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from builders import event_file, summary, tensor, version
from log_directories import write_run
from series_files import write_series
from servers import install_waiting_reader, start_server
from tensorboard.compat.proto.tensor_pb2 import TensorProto

import pulseboard as pb
from pulseboard.charts.query import Smoothing
from pulseboard.charts.smoothing import SmoothedSeries
from pulseboard.core.cancellation import Cancelled, Token
from pulseboard.serve.http import app
from pulseboard.serve.http.responses import json_response
from pulseboard.serve.security import markdown

# Far more than the promised five seconds: the machine may be busy. Before, the process never ended.
END_SECS = 60

# What connections send that never go on.
HALF_OPEN = [b"", b"GET /api/runs HTTP/1.1\r\nx:", b"POST /api/table HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"]


def ends_with(server, number):
    server.process.send_signal(number)
    return server.process.wait(END_SECS)


def test_event_files_that_became_pipes_stop_nobody(serve, tmp_path):
    with pb.init(dir=tmp_path / "logs", run_id="a", telemetry_secs=0) as run:
        for step in range(3):
            run.histogram("weights", np.arange(10.0), step=step)
            run.text("notes", "x", step=step)
    write_run(tmp_path / "logs" / "b")
    server = serve(tmp_path / "logs", "--reload_interval", "0")
    for path in (tmp_path / "logs" / "a").rglob("*tfevents*"):
        path.unlink()
        os.mkfifo(path)
    paths = ["histograms?run=a&tag=weights", "texts?run=a&tag=notes", "distributions?run=a&tag=weights"] * 4
    with ThreadPoolExecutor(len(paths)) as clients:
        responses = list(clients.map(server.api, paths))
    assert {response.status for response in responses} == {404}
    assert {run["name"] for run in server.api("runs").json["runs"]} == {"a", "b"}
    assert ends_with(server, signal.SIGTERM) == 0


def test_hostile_texts_do_not_hold_up_the_list_of_runs(serve, tmp_path):
    hostile = ["[" * 30_000, "![" * 15_000, "[a](" * 8_000]
    protos = [TensorProto(dtype=7, string_val=[text.encode()]) for text in hostile]
    events = [summary(tensor("notes", proto, plugin="text"), step=i) for i, proto in enumerate(protos)]
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "events.out.tfevents.1").write_bytes(event_file(version(), *events))
    server = serve(tmp_path / "logs")
    with ThreadPoolExecutor(8) as clients:
        busy = [clients.submit(server.api, "texts?run=.&tag=notes") for _ in range(8)]
        assert server.api("runs").status == 200
        for response in busy:
            assert len(response.result().json["items"]) == 3


def write_attacks(logs):
    """A good run, and runs whose points, texts and event files are attacks."""
    write_run(logs / "good", (0, 1.0), (1, 0.5))
    write_series(logs / "long" / "events.out.tfevents.1", range(2_000_000), np.sin(np.arange(2e6)).astype(np.float32))
    texts = [TensorProto(dtype=7, string_val=[text.encode()]) for text in ("[" * 30_000, "![" * 15_000)]
    events = [summary(tensor("notes", text, plugin="text"), step=i) for i, text in enumerate(texts)]
    (logs / "texts").mkdir()
    (logs / "texts" / "events.out.tfevents.1").write_bytes(event_file(version(), *events))
    with pb.init(dir=logs, run_id="pipe", telemetry_secs=0) as run:
        run.histogram("weights", np.arange(10.0), step=0)


def test_during_every_attack_at_once_lists_are_answered_and_a_signal_ends_it(serve, tmp_path):
    write_attacks(tmp_path / "logs")
    server = serve(tmp_path / "logs", "--reload_interval", "0")
    for path in (tmp_path / "logs" / "pipe").rglob("*tfevents*"):
        path.unlink()
        os.mkfifo(path)
    windows = [{"kind": "gaussian", "weight": 9_000 + i} for i in range(40)]
    requests = [("window", {"runs": ["long"], "tags": ["loss"], "smoothing": smoothing}) for smoothing in windows]
    requests += [("texts?run=texts&tag=notes", None), ("histograms?run=pipe&tag=weights", None)] * 8
    with contextlib.ExitStack() as stack:
        for sent in HALF_OPEN * 100:
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60))
            connection.sendall(sent)
        clients = stack.enter_context(ThreadPoolExecutor(len(requests)))
        attempts = [clients.submit(attempt, server, *request) for request in requests]
        began = time.monotonic()
        answers = [server.api("runs") for _ in range(5)]
        print(f"{(time.monotonic() - began) / 5:.2f} s for a list")  # figures for a person; no limit here
        assert [answer.status for answer in answers] == [200] * 5
        assert not all(one.done() for one in attempts), "the lists waited for the attacks"
        assert {run["name"] for run in answers[-1].json["runs"]} == {"good", "long", "texts", "pipe"}
        began = time.monotonic()
        assert ends_with(server, signal.SIGTERM) == 0
        print(f"{time.monotonic() - began:.1f} s until the end")


def attempt(server, path, body):
    """Send a request that the end of the server may cut off."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        server.api(path, body)


def test_json_is_not_encoded_on_the_event_loop(tmp_path, monkeypatch):
    monkeypatch.setenv("PULSEBOARD_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_run(tmp_path / "logs" / "a")
    encoding = []

    def note(value):
        encoding.append(threading.current_thread().name)
        return json_response(value)

    monkeypatch.setattr(app, "json_response", note)
    with pb.serve(tmp_path / "logs", port=0) as server, socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"GET /api/runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 200")
    assert encoding == ["pulseboard-serve"]  # a thread of a lane (http/work.py)


@pytest.mark.parametrize("text", ["[" * 100_000, "![" * 50_000, "<" * 100_000, "_a" * 50_000])
def test_the_renderer_looks_at_a_hostile_text_a_bounded_number_of_times(text, monkeypatch):
    looks = 0
    count = markdown._count

    def counted(env):
        nonlocal looks
        looks += 1
        return count(env)

    monkeypatch.setattr(markdown, "_count", counted)
    markdown._renderer.cache_clear()
    try:
        assert markdown._rendered(text).startswith("<pre>")
    finally:
        markdown._renderer.cache_clear()
    assert looks <= markdown._MAX_LOOKS + 1


def test_rendering_is_cached_and_the_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(markdown, "_MAX_CACHED_CHARACTERS", 1000)
    cache = markdown._Cache()
    for i in range(100):
        cache.put(f"text {i}", "x" * 90)
    assert cache.get("text 0") is None
    assert cache.get("text 99") == "x" * 90
    assert cache._characters <= 1000
    assert markdown.to_html("*once*") is markdown.to_html("*once*")


def test_wide_smoothing_of_many_points_is_nearly_that_of_the_exact_kernel():
    from pulseboard.charts import smoothing

    rng = np.random.default_rng(3)
    values = np.cumsum(rng.normal(size=60_000)) + rng.normal(size=60_000)
    values[[5, 700, 30_000]] = np.nan, np.inf, -np.inf
    exact, fast = np.empty_like(values), np.empty_like(values)
    smoothing.curves.smooth_gaussian(values, 2000.0, exact)
    smoothing._smooth_blocks(values, 2000.0, fast)
    finite = np.isfinite(values)
    assert np.array_equal(fast[~finite], values[~finite], equal_nan=True)
    extent = np.ptp(values[finite])
    assert np.abs(fast[finite] - exact[finite]).max() < extent / 1000


def test_smoothing_in_pieces_is_exact():
    from pulseboard.charts import smoothing

    values = np.random.default_rng(5).normal(size=200_000)
    exact, pieces = np.empty_like(values), np.empty_like(values)
    smoothing.curves.smooth_gaussian(values, 20.0, exact)
    smoothing._smooth_gaussian(values, 20.0, pieces)
    assert np.array_equal(exact, pieces)


def test_the_widest_smoothing_of_millions_of_points_takes_seconds_of_processor_time():
    """At 80,000 products per point it took minutes per million points."""
    values = np.random.default_rng(1).normal(size=2_000_000)
    began = time.process_time()
    SmoothedSeries(Smoothing("gaussian", 10_000.0)).values(np.arange(len(values), dtype=float), values)
    assert time.process_time() - began < 10


def test_smoothing_stops_when_it_is_cancelled():
    token = Token()

    class CancelledInBetween(SmoothedSeries):
        def _recompute(self, x, values):
            token.cancel()
            super()._recompute(x, values)

    with pytest.raises(Cancelled):
        token.run(lambda: CancelledInBetween(Smoothing("gaussian", 5.0)).values(np.arange(9.0), np.arange(9.0)))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_reader_that_never_returns_does_not_keep_the_process_alive(tmp_path, number):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "x.waiting").write_text("")
    server = start_server(
        tmp_path / "logs", "--port", "0", home=tmp_path, env=install_waiting_reader(tmp_path / "site")
    )
    try:
        assert server.api("status").json["loading"] is not None
        assert ends_with(server, number) == 0
    finally:
        server.stop()


def test_output_that_nobody_reads_does_not_keep_the_process_alive(tmp_path):
    """The last warning of the process waited for room in the pipe, and so did the end after it."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "x.waiting").write_text("")
    server = start_server(
        tmp_path / "logs", "--port", "0", home=tmp_path, env=install_waiting_reader(tmp_path / "site")
    )
    errors = os.open(f"/proc/{server.process.pid}/fd/2", os.O_WRONLY | os.O_NONBLOCK)
    try:
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(errors, bytes(4096))
        assert ends_with(server, signal.SIGTERM) == 0
    finally:
        os.close(errors)
        server.stop()


def test_requests_that_wait_when_the_server_stops_leave_no_traceback(serve, tmp_path):
    write_series(tmp_path / "logs" / "events.out.tfevents.1", range(1_000_000), np.zeros(1_000_000, np.float32))
    server = serve(tmp_path / "logs", "--reload_interval", "0")
    bodies = [
        {"runs": ["."], "tags": ["loss"], "smoothing": {"kind": "gaussian", "weight": 9000 + i}} for i in range(30)
    ]
    with ThreadPoolExecutor(len(bodies)) as clients:
        for body in bodies:
            clients.submit(attempt, server, "window", body)
        assert server.api("runs").status == 200
        assert ends_with(server, signal.SIGTERM) == 0
    assert "Traceback" not in server.process.stderr.read()
