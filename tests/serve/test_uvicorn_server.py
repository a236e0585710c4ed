"""uvicorn: what http/uvicorn_server.py relies on. A failure here means that a new uvicorn needs changes there."""

import asyncio
import contextlib
import http.client
import inspect
import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import uvicorn
from log_directories import write_run
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

import pulseboard as pb
from pulseboard.serve.http import uvicorn_server
from pulseboard.serve.http.uvicorn_server import MAX_HEAD_BYTES, BoundedProtocol, Connections


def in_new_process(code):
    return json.loads(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


# ---- what is used of uvicorn


def parameters(function):
    return list(inspect.signature(function).parameters)


def test_the_callbacks_that_the_protocol_overrides_still_exist():
    assert issubclass(HttpToolsProtocol, asyncio.Protocol)
    assert parameters(HttpToolsProtocol.data_received) == ["self", "data"]
    assert parameters(HttpToolsProtocol.connection_made) == ["self", "transport"]
    assert parameters(HttpToolsProtocol.connection_lost) == ["self", "exc"]
    assert parameters(HttpToolsProtocol.on_header) == ["self", "name", "value"]
    assert parameters(HttpToolsProtocol.on_body) == ["self", "body"]
    for name in ("on_message_begin", "on_headers_complete", "on_message_complete", "on_response_complete"):
        assert parameters(getattr(HttpToolsProtocol, name)) == ["self"]
    assert parameters(HttpToolsProtocol.send_400_response) == ["self", "msg"]
    ours = {"_in_head", "_in_body", "_overhead_bytes", "_deadline", "_allow", "_unanswered", "limits", "close"}
    assert not ours & set(dir(HttpToolsProtocol)), "uvicorn uses names of our attributes"


def test_the_server_still_runs_on_given_sockets_and_stops_on_request():
    server = uvicorn.Server(uvicorn.Config(None))
    assert "sockets" in parameters(server.run)
    assert (server.should_exit, server.force_exit) == (False, False)


def test_the_server_uses_the_bounded_protocol():
    server = uvicorn_server.create(_nothing, certfile=None, keyfile=None)
    server.config.load()
    assert issubclass(server.config.http_protocol_class, BoundedProtocol)


async def _nothing(scope, receive, send):
    pass


def test_nothing_is_written_to_a_connection_that_ended_while_requests_waited():
    async def answer(scope, receive, send):
        await asyncio.sleep(0)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"late"})

    async def play(end):
        server = uvicorn_server.create(answer, certfile=None, keyfile=None)
        server.config.load()
        protocol = server.config.http_protocol_class(server.config, server.server_state, {})
        transport = Transport()
        protocol.connection_made(transport)
        protocol.data_received(b"GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n")
        if end:
            protocol.connection_lost(ConnectionResetError())
        for _ in range(20):
            await asyncio.sleep(0)
        if not end:
            protocol.connection_lost(None)
        return transport.written

    assert asyncio.run(play(end=False)).count(b"late") == 2
    assert asyncio.run(play(end=True)) == b""


# ---- the bounded head


class Transport(asyncio.Transport):
    """Collects what is written."""

    def __init__(self):
        super().__init__()
        self.written = b""
        self.closed = False

    def write(self, data):
        self.written += bytes(data)

    def close(self):
        self.closed = True

    def abort(self):
        self.closed = True

    def is_closing(self):
        return self.closed

    def pause_reading(self):
        pass

    def resume_reading(self):
        pass


@pytest.fixture
def connection():
    """A connection and its transport."""
    loop = asyncio.new_event_loop()
    server = uvicorn_server.create(_nothing, certfile=None, keyfile=None)
    server.config.load()
    protocol = server.config.http_protocol_class(server.config, server.server_state, {}, _loop=loop)
    transport = Transport()
    protocol.connection_made(transport)
    yield protocol, transport
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()


@pytest.mark.parametrize("start", [b"GET /?a=", b"GET / HTTP/1.1\r\nhost: localhost\r\nx: "])
def test_a_head_that_is_too_large_is_refused_and_the_connection_closed(connection, start):
    protocol, transport = connection
    protocol.data_received(start)
    for _ in range(MAX_HEAD_BYTES // 1000):
        protocol.data_received(b"a" * 1000)
    assert not transport.closed
    protocol.data_received(b"a" * 1000)
    assert transport.closed
    assert transport.written.startswith(b"HTTP/1.1 400 ")
    assert b"too large" in transport.written


def test_a_large_body_does_not_count_as_head(connection):
    protocol, transport = connection
    size = 4 * MAX_HEAD_BYTES
    protocol.data_received(b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % size)
    for _ in range(size // 4096):
        protocol.data_received(b"a" * 4096)
    assert not transport.closed


CHUNKED = b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("trailer", [b"x: " + b"a" * 990 + b"\r\n", b"a" * 1000])
def test_endless_trailers_are_refused_and_not_kept(connection, trailer):
    protocol, transport = connection
    protocol.data_received(CHUNKED + b"3\r\nabc\r\n0\r\nx: ")
    for _ in range(2 * MAX_HEAD_BYTES // 1000):
        protocol.data_received(trailer)
    assert transport.closed
    assert sum(len(name) + len(value) for name, value in protocol.headers) < 1000


def test_a_body_in_chunks_of_one_byte_is_accepted(connection):
    protocol, transport = connection
    protocol.data_received(CHUNKED)
    for _ in range(400):
        protocol.data_received(b"1\r\na\r\n" * 1000)
    assert not transport.closed
    protocol.data_received(b"0\r\n\r\n")
    assert bytes(protocol.cycle.body) == b"a" * 400_000


# ---- time and connections


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HT", b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\nabc"]
)
def test_a_client_that_does_not_go_on_is_disconnected(connection, monkeypatch, sent):
    protocol, transport = connection
    for name in ("_HEAD_SECS", "_BODY_SECS"):
        monkeypatch.setattr(uvicorn_server, name, 0.01)
    protocol._allow(0.01)
    if sent:
        protocol.data_received(sent)

    async def until_closed():
        while not transport.closed:
            await asyncio.sleep(0.01)

    protocol.loop.run_until_complete(asyncio.wait_for(until_closed(), 60))


def test_a_complete_request_has_no_deadline_of_the_connection(connection):
    protocol, _ = connection
    protocol.data_received(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
    assert protocol._deadline is None


class Client:
    """What `Connections` needs of a protocol."""

    def __init__(self, address):
        self.client = (address, 1)
        self.transport = Transport()

    def close(self):
        self.transport.abort()


def test_the_connection_that_waits_longest_makes_room():
    limits = Connections(10)
    clients = [Client(f"10.0.0.{i}") for i in range(11)]
    limits.busy(clients[0])
    for client in clients[:10]:
        limits.add(client)
    limits.busy(clients[0])
    limits.add(clients[10])
    assert [client.transport.closed for client in clients] == [False, True] + [False] * 9


def test_one_client_has_at_most_half_of_the_connections():
    limits = Connections(10)
    greedy = [Client("10.0.0.1") for _ in range(8)]
    for client in greedy:
        limits.add(client)
    assert sum(not client.transport.closed for client in greedy) == 5
    for client in greedy:
        limits.busy(client)
        if client.transport.closed:
            limits.remove(client)
    refused = Client("10.0.0.1")
    limits.add(refused)
    assert refused.transport.closed  # all others are busy
    other = Client("10.0.0.2")
    limits.add(other)
    assert not other.transport.closed


def test_idle_sockets_deny_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr(uvicorn_server, "_MAX_CONNECTIONS", 40)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PULSEBOARD_DATA_DIR", str(tmp_path / "data"))
    write_run(tmp_path / "logs" / "run")
    with pb.serve(tmp_path / "logs", port=0) as server, contextlib.ExitStack() as sockets:
        for i in range(100):
            idle = sockets.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            if i % 2:
                idle.sendall(b"GET /api/runs HTTP/1.1\r\nhost: loc")
        client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        with contextlib.closing(client):
            client.request("GET", "/api/status")
            assert client.getresponse().status == 200


def test_the_installed_uvicorn_is_one_that_pyproject_allows():
    from packaging.requirements import Requirement

    project = (Path(__file__).resolve().parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    wanted = Requirement(re.search(r'"(uvicorn[^"]*)"', project)[1])
    assert any(specifier.operator in ("<", "<=") for specifier in wanted.specifier)
    assert wanted.specifier.contains(uvicorn.__version__)


# ---- the import


def test_the_server_loads_no_command_line_and_no_supervisors():
    code = "import pulseboard.serve.http.uvicorn_server, sys, json; print(json.dumps(sorted(sys.modules)))"
    loaded = in_new_process(code)
    assert "uvicorn.server" in loaded
    unwanted = {"click", "uvicorn.main", "uvicorn.supervisors", "numpy"}
    if hasattr(uvicorn.config, "click"):  # the server of old versions needs it
        unwanted.remove("click")
    assert unwanted.isdisjoint(loaded)


def test_other_users_of_uvicorn_get_the_whole_package():
    code = (
        "import pulseboard.serve.http.uvicorn_server, uvicorn, json\n"
        "from uvicorn import run\n"
        "print(json.dumps([callable(uvicorn.run), uvicorn.Server.__name__, uvicorn.__version__.count('.')]))"
    )
    assert in_new_process(code) == [True, "Server", 2]


def test_a_uvicorn_that_was_imported_before_is_left_alone():
    code = "import uvicorn, json\nimport pulseboard.serve.http.uvicorn_server\nprint(json.dumps(callable(uvicorn.run)))"
    assert in_new_process(code) is True


def test_a_missing_uvicorn_is_an_import_error():
    code = (
        "import importlib.util, json\n"
        "importlib.util.find_spec = lambda name: None\n"
        "try: import pulseboard.serve.http.uvicorn_server\n"
        "except ModuleNotFoundError as error: print(json.dumps(error.name))"
    )
    assert in_new_process(code) == "uvicorn"
