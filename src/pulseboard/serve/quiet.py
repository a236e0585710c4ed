"""uvicorn, with Ctrl-C as the way it is meant to end."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from pulseboard.serve.light_import import import_lightly

uvicorn = import_lightly("uvicorn")

from uvicorn.config import Config  # noqa: E402 - after the line above, which is what it is for
from uvicorn.server import Server  # noqa: E402

uvicorn.Config = Config  # its own modules ask the package for this one

__all__ = ["Config", "QuietServer"]


class QuietServer(Server):
    """Stops on signals, and does not raise them again when it has stopped."""

    def __init__(self, config: Config, *, on_ready: Callable[[], None], on_signal: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready, self._tell = on_ready, on_signal

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        self._on_ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGINT and SIGTERM, where this is the thread that gets them."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.should_exit:
            self.force_exit = True  # asked twice: at once
        self._tell()
