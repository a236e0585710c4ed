"""The server: sockets, board and application put together and run."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pulseboard.serve.listening import is_far, listen
from pulseboard.serve.settings import Settings

if TYPE_CHECKING:
    from pulseboard.read.discover import Root
    from pulseboard.serve.board import Board
    from pulseboard.serve.quiet import QuietServer

_SHUTDOWN_SECS = 1
_KEEP_ALIVE_SECS = 75
_MOST_CONNECTIONS = 4000


class Server:
    """One server over some log directories. Made, it listens; `run` answers."""

    def __init__(self, roots: Sequence[Root], settings: Settings) -> None:
        from pulseboard.serve.board import Board

        self.settings = settings
        self.sockets: list[socket.socket] = listen(settings)
        self.port: int = self.sockets[0].getsockname()[1]
        self.guard = settings.guard(port=self.port)
        self.board: Board = Board(roots, title=settings.title, every_secs=settings.reload_secs)
        self._uvicorn: QuietServer | None = None
        self._stopping = False
        self.ready = threading.Event()

    def run(self) -> None:
        """Answer until `stop`, Ctrl-C or the end of the process. In the main thread, signals stop it."""
        # The board's thread reads, mostly outside the interpreter, while the modules of the server load here.
        from pulseboard.serve.app import App
        from pulseboard.serve.bounded_head import BoundedHead
        from pulseboard.serve.page import Page
        from pulseboard.serve.quiet import Config, QuietServer

        app = App(
            self.board,
            guard=self.guard,
            page=Page(title=self.settings.title),
            prefix=self.settings.prefix,
            far=is_far(),
        )
        config = Config(
            app,
            http=BoundedHead,
            loop=_loop(),
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level=logging.ERROR,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_keep_alive=_KEEP_ALIVE_SECS,
            timeout_graceful_shutdown=_SHUTDOWN_SECS,
            ssl_certfile=self.settings.certfile,
            ssl_keyfile=self.settings.keyfile,
        )
        self._uvicorn = QuietServer(config, on_ready=self.ready.set, on_signal=self.stop)
        try:
            if not self._stopping:
                self._uvicorn.run(sockets=self.sockets)
        finally:
            app.close()
            self.board.close()
            for one in self.sockets:
                one.close()

    def stop(self) -> None:
        """End soon: streams are closed, answers under way get a second. Safe from any thread and in a signal."""
        self._stopping = True
        self.board.closed = True
        if self._uvicorn is not None:
            self._uvicorn.should_exit = True
        # Not under a lock: a signal may have come while its thread held that very lock.
        threading.Thread(target=self.board.journal.wake, daemon=True).start()


def _loop() -> Literal["uvloop", "asyncio"]:
    try:
        import uvloop  # noqa: F401
    except ImportError:  # not on Windows
        return "asyncio"
    return "uvloop"
