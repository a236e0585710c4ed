"""Everything that depends on uvicorn. tests/serve/test_uvicorn_server.py fails when uvicorn changes what is used here.

Documented API: `Config` (with a protocol class as `http`), `Server.run`, `should_exit` and `force_exit`. The server
must run outside the main thread, where uvicorn leaves signals alone. Two things go further:

- `_import_uvicorn` skips the package's own imports (its command line and two process supervisors), which take a third
  of the time until a dashboard opens.
- `BoundedProtocol` extends uvicorn's protocol class by asyncio's and httptools' callbacks.
"""

from __future__ import annotations

import importlib.util
import logging
import sys
from asyncio import TimerHandle
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal


def _import_uvicorn() -> Any:
    """Put the package into `sys.modules` without running its `__init__`.

    The `__init__` runs when something asks for an attribute that is not a submodule, so other users of uvicorn in this
    process get the whole package.
    """
    if "uvicorn" in sys.modules:
        return sys.modules["uvicorn"]
    spec = importlib.util.find_spec("uvicorn")
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError("No module named 'uvicorn'", name="uvicorn")
    loader = spec.loader
    module = importlib.util.module_from_spec(spec)

    def load(name: str) -> Any:
        # Python itself looks up such names while it imports submodules.
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        del module.__dict__["__getattr__"]
        loader.exec_module(module)
        return getattr(module, name)

    module.__dict__["__getattr__"] = load
    sys.modules["uvicorn"] = module
    return module


_uvicorn = _import_uvicorn()

from uvicorn.config import Config  # noqa: E402 - must come after the lines above

_uvicorn.Config = Config  # uvicorn's own modules import it from the package

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol  # noqa: E402
from uvicorn.server import Server as UvicornServer  # noqa: E402

if TYPE_CHECKING:
    from pulseboard.serve.http.app import App

__all__ = ["MAX_HEAD_BYTES", "BoundedProtocol", "UvicornServer", "create"]

MAX_HEAD_BYTES = 256 << 10
_FRAMES_PER_BODY_BYTE = 8  # a chunk of one byte has a frame of five
# A client on a slow line needs a second or two. One that needs longer than this keeps a place that others need.
_HEAD_SECS = 20.0
_BODY_SECS = 60.0
_OTHER_FILES = 256
_SHUTDOWN_SECS = 1
_KEEP_ALIVE_SECS = 75
_MAX_CONNECTIONS = 4000


class BoundedProtocol(HttpToolsProtocol):
    """Bounds what a client can use before the application sees its request: bytes, time and connections.

    uvicorn joins a URL piece by piece in quadratic time: one of forty megabytes would block all clients for seconds.
    It keeps every trailer after a chunked body, and waits forever for a first byte and for the end of a head or body.
    """

    limits: Connections  # set by `create`

    _in_head = True
    _in_body = False
    _overhead_bytes = 0  # of the current request: everything but its body
    _deadline: TimerHandle | None = None
    _unanswered: tuple[Any, ...] = ()  # uvicorn's cycles: a client may send several requests before the first response

    def connection_made(self, transport: Any) -> None:
        """asyncio: a client has connected."""
        super().connection_made(transport)
        self._allow(_HEAD_SECS)
        self.limits.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """asyncio: the connection has ended."""
        self._allow(None)
        self.limits.remove(self)
        super().connection_lost(exc)
        # uvicorn does this for the last request only; the response to another one would be written to a closed socket.
        for cycle in self._unanswered:
            cycle.disconnected = True
            cycle.message_event.set()

    def data_received(self, data: bytes) -> None:
        """asyncio: more bytes from the client."""
        if self.transport.is_closing():
            return
        self._overhead_bytes += len(data)
        super().data_received(data)
        too_large = self._overhead_bytes > MAX_HEAD_BYTES
        if too_large and (self._in_head or self._in_body) and not self.transport.is_closing():
            self.send_400_response(f"The URL and headers are too large. Send at most {MAX_HEAD_BYTES} bytes.")

    def on_message_begin(self) -> None:
        """httptools: a request begins."""
        self._in_head, self._overhead_bytes = True, 0
        self._allow(_HEAD_SECS)
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """httptools: a header, or a trailer after a chunked body, which nothing needs."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """httptools: the body begins."""
        self._in_head, self._in_body = False, True
        self._overhead_bytes = 0
        self._allow(_BODY_SECS)
        self.limits.busy(self)
        super().on_headers_complete()
        cycles = (*self._unanswered, self.cycle)
        self._unanswered = tuple(cycle for cycle in cycles if cycle is not None and not cycle.response_complete)

    def on_body(self, body: bytes) -> None:
        """httptools: a part of the body. The frames of small chunks are several times as long as the chunks."""
        self._overhead_bytes = max(self._overhead_bytes - _FRAMES_PER_BODY_BYTE * len(body), -MAX_HEAD_BYTES)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """httptools: the request is complete."""
        self._in_body, self._overhead_bytes = False, 0
        self._allow(None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """uvicorn: the response was sent."""
        super().on_response_complete()
        self.limits.idle(self)

    def _allow(self, secs: float | None) -> None:
        """Close the connection after this time, unless it is called again before; None: never."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if secs is None else self.loop.call_later(secs, self.close)

    def close(self) -> None:
        """Close the connection without a word."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.abort()


class Connections:
    """How many connections there are, and which of them wait for a request: those are closed if there are too many.

    Half of them at most belong to one client, so that another one always finds room.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._waiting: dict[BoundedProtocol, None] = {}  # no request is complete; those that wait longest come first
        self._by_client: dict[str, dict[BoundedProtocol, None]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, protocol: BoundedProtocol) -> None:
        """A client has connected. Makes room for it, or refuses it."""
        of_client = self._by_client.setdefault(_client(protocol), {})
        own = (other for other in of_client if other in self._waiting)
        has_room = len(of_client) < self.most // 2 or _close_first(own)
        if not has_room or not (self._count < self.most or _close_first(self._waiting)):
            protocol.close()
        of_client[protocol] = self._waiting[protocol] = None
        self._count += 1

    def remove(self, protocol: BoundedProtocol) -> None:
        """A connection has ended."""
        of_client = self._by_client.get(_client(protocol), {})
        if protocol in of_client:
            del of_client[protocol]
            self._count -= 1
            if not of_client:
                del self._by_client[_client(protocol)]
        self._waiting.pop(protocol, None)

    def busy(self, protocol: BoundedProtocol) -> None:
        """The head of a request is complete."""
        self._waiting.pop(protocol, None)

    def idle(self, protocol: BoundedProtocol) -> None:
        """The connection waits for the next request."""
        if protocol in self._by_client.get(_client(protocol), {}):
            self._waiting[protocol] = None


def _client(protocol: BoundedProtocol) -> str:
    return protocol.client[0] if protocol.client else ""


def _close_first(waiting: Iterable[BoundedProtocol]) -> bool:
    """Close the connection that waits longest. Returns False if none waits."""
    for protocol in waiting:
        if not protocol.transport.is_closing():
            protocol.close()
            return True
    return False


def _max_connections() -> int:
    """As many as the system has file descriptors for; logs and the index need some too."""
    try:
        import resource
    except ImportError:  # Windows
        return _MAX_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_CONNECTIONS + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return _MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else max(min(_MAX_CONNECTIONS, soft - _OTHER_FILES), 16)


def create(app: App, *, certfile: str | None, keyfile: str | None) -> UvicornServer:
    """A server for the application. Run it outside the main thread; set `should_exit` to stop it."""
    most = _max_connections()
    config = Config(
        app,
        http=type("Protocol", (BoundedProtocol,), {"limits": Connections(most)}),
        loop=_event_loop(),
        ws="none",
        lifespan="auto",
        interface="asgi3",
        log_config=None,
        log_level=logging.ERROR,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=2 * most,
        timeout_keep_alive=_KEEP_ALIVE_SECS,
        timeout_graceful_shutdown=_SHUTDOWN_SECS,
        ssl_certfile=certfile,
        ssl_keyfile=keyfile,
    )
    return UvicornServer(config)


def _event_loop() -> Literal["uvloop", "asyncio"]:
    try:
        import uvloop  # noqa: F401
    except ImportError:  # it does not exist for Windows
        return "asyncio"
    return "uvloop"
