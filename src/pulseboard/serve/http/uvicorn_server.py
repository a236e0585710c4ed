"""Everything that depends on uvicorn. tests/serve/test_uvicorn_server.py fails when uvicorn changes what is used here.

Documented API: `Config` (with a protocol class as `http`), `Server.run`, `should_exit` and `force_exit`. The server
must run outside the main thread, where uvicorn leaves signals alone. Two things go further:

- `_import_uvicorn` skips the package's own imports (its command line and two process supervisors), which take a third
  of the time until a dashboard opens.
- `BoundedHeadProtocol` extends uvicorn's protocol class by asyncio's and httptools' callbacks.
"""

from __future__ import annotations

import importlib.util
import logging
import sys
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

__all__ = ["MAX_HEAD_BYTES", "BoundedHeadProtocol", "UvicornServer", "create"]

MAX_HEAD_BYTES = 256 << 10
_SHUTDOWN_SECS = 1
_KEEP_ALIVE_SECS = 75
_MAX_CONNECTIONS = 4000


class BoundedHeadProtocol(HttpToolsProtocol):
    """Closes connections whose request line and headers are too large.

    uvicorn joins a URL piece by piece in quadratic time: one of forty megabytes would block all clients for seconds.
    """

    _in_head = True
    _head_bytes = 0

    def data_received(self, data: bytes) -> None:
        """asyncio: more bytes from the client."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
                self.send_400_response(f"The URL and headers are too large. Send at most {MAX_HEAD_BYTES} bytes.")

    def on_message_begin(self) -> None:
        """httptools: a request begins."""
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """httptools: the body begins."""
        self._in_head = False
        super().on_headers_complete()


def create(app: App, *, certfile: str | None, keyfile: str | None) -> UvicornServer:
    """A server for the application. Run it outside the main thread; set `should_exit` to stop it."""
    config = Config(
        app,
        http=BoundedHeadProtocol,
        loop=_event_loop(),
        ws="none",
        lifespan="auto",
        interface="asgi3",
        log_config=None,
        log_level=logging.ERROR,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MAX_CONNECTIONS,
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
