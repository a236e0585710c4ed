"""uvicorn: what http/uvicorn_server.py relies on. A failure here means that a new uvicorn needs changes there."""

import asyncio
import inspect
import json
import subprocess
import sys

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pulseboard.serve.http import uvicorn_server
from pulseboard.serve.http.uvicorn_server import MAX_HEAD_BYTES, BoundedHeadProtocol


def in_new_process(code):
    return json.loads(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


# ---- what is used of uvicorn


def parameters(function):
    return list(inspect.signature(function).parameters)


def test_the_callbacks_that_the_protocol_overrides_still_exist():
    assert issubclass(HttpToolsProtocol, asyncio.Protocol)
    assert parameters(HttpToolsProtocol.data_received) == ["self", "data"]
    assert parameters(HttpToolsProtocol.on_message_begin) == ["self"]
    assert parameters(HttpToolsProtocol.on_headers_complete) == ["self"]
    assert parameters(HttpToolsProtocol.send_400_response) == ["self", "msg"]
    ours = {"_in_head", "_head_bytes"}
    assert not ours & set(dir(HttpToolsProtocol)), "uvicorn uses names of our attributes"


def test_the_server_still_runs_on_given_sockets_and_stops_on_request():
    server = uvicorn.Server(uvicorn.Config(None))
    assert "sockets" in parameters(server.run)
    assert (server.should_exit, server.force_exit) == (False, False)


def test_the_server_uses_the_bounded_protocol():
    server = uvicorn_server.create(_nothing, certfile=None, keyfile=None)
    server.config.load()
    assert server.config.http_protocol_class is BoundedHeadProtocol


async def _nothing(scope, receive, send):
    pass


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
    protocol = BoundedHeadProtocol(server.config, server.server_state, {}, _loop=loop)
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


# ---- the import


def test_the_server_loads_no_command_line_and_no_supervisors():
    code = "import pulseboard.serve.http.uvicorn_server, sys, json; print(json.dumps(sorted(sys.modules)))"
    loaded = in_new_process(code)
    assert "uvicorn.server" in loaded
    assert [name for name in loaded if name in ("click", "uvicorn.main", "uvicorn.supervisors", "numpy")] == []


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
