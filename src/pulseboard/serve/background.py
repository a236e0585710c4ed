"""`pb.serve`: a server on a background thread, for scripts and notebooks."""

from __future__ import annotations

import os
import threading
from types import TracebackType
from typing import Any

from pulseboard.core.errors import LogNotFound, PulseboardError
from pulseboard.serve.http.page import escape
from pulseboard.serve.http.sockets import url_of
from pulseboard.serve.server import Server
from pulseboard.serve.settings import ServerSettings

_HEIGHT_PIXELS = 800


class BackgroundServer:
    """A server on its own thread. Stops with `stop`, at the end of a `with` block, or with the program."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.url = url_of(server.settings, server.port)
        self._thread = threading.Thread(target=server.run_in_background, name="pulseboard-server", daemon=True)
        server.dashboard.start()  # first: a server that cannot start closes the dashboard
        self._thread.start()
        server.ready.wait(30)
        if server.error is not None:  # otherwise requests would wait for a server that is not there
            raise server.error

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._server.port

    def wait(self) -> None:
        """Return when the server has stopped. Ctrl-C stops it."""
        try:
            while self._thread.is_alive():
                self._thread.join(0.5)
        except KeyboardInterrupt:
            self.stop()

    def stop(self) -> None:
        """Stop the server."""
        self._server.stop()
        self._thread.join(5)

    def __enter__(self) -> BackgroundServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Pulseboard at {self.url}" + ("" if self._thread.is_alive() else " (stopped)")

    def _repr_html_(self) -> str:
        return f'<iframe src="{escape(self.url)}" width="100%" height="{_HEIGHT_PIXELS}" frameborder="0"></iframe>'


def serve(*paths: str | os.PathLike[str], block: bool = False, **options: Any) -> BackgroundServer:
    """Serve the dashboard of these log directories in the background. `options` are the fields of ServerSettings.

    block  return only when the server has stopped
    """
    from pulseboard.database.url import database_among
    from pulseboard.read.discovery.log_directory import log_directories_from

    if not paths:
        raise LogNotFound("(none)", why="no path was given")
    settings = ServerSettings(**options)
    database = database_among(paths)
    directories = [] if database else log_directories_from(paths, links_out=settings.follow_links)
    listening = Server(directories, settings, database=database)
    try:
        if missing := listening.dashboard.runs.connect():
            raise LogNotFound(missing[0], why="nothing is there")
    except PulseboardError:
        listening.close()
        raise
    server = BackgroundServer(listening)
    if block:
        server.wait()
    return server
