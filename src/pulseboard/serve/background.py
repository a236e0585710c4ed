"""`pb.serve`: a server behind the program that started it, for scripts and notebooks."""

from __future__ import annotations

import os
import threading
from types import TracebackType
from typing import Any

from pulseboard.core.errors import LogNotFound
from pulseboard.serve.listening import address
from pulseboard.serve.page import escaped
from pulseboard.serve.server import Server
from pulseboard.serve.settings import BadSetting, Settings

_HEIGHT_PIXELS = 800


class Background:
    """A server on a thread of its own. Ends with `stop`, with its `with` block, or with the program."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.url = address(server.settings, server.port)
        self._thread = threading.Thread(target=server.run, name="pulseboard-server", daemon=True)
        self._thread.start()
        server.board.start()
        server.ready.wait(30)

    @property
    def port(self) -> int:
        """The port it listens at."""
        return self._server.port

    def wait(self) -> None:
        """Return when it has ended; Ctrl-C ends it."""
        try:
            while self._thread.is_alive():
                self._thread.join(0.5)
        except KeyboardInterrupt:
            self.stop()

    def stop(self) -> None:
        """End it."""
        self._server.stop()
        self._thread.join(5)

    def __enter__(self) -> Background:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Pulseboard at {self.url}" + ("" if self._thread.is_alive() else " (stopped)")

    def _repr_html_(self) -> str:
        return f'<iframe src="{escaped(self.url)}" width="100%" height="{_HEIGHT_PIXELS}" frameborder="0"></iframe>'


def serve(*paths: str | os.PathLike[str], block: bool = False, **options: Any) -> Background:
    """Serve the dashboard of these log directories behind the program.

    The options are those of the command by the names of `Settings`: `host`, `port`, `prefix`, `title`, `reload_secs`,
    `token`, `read_token`, `token_file`, `allow_hosts`, `follow_links`, `certfile`, `keyfile`. With `block`, return
    when it has ended.
    """
    from pulseboard.read.discover import roots_of

    if not paths:
        raise LogNotFound("(none)", why="no path was given")
    try:
        settings = Settings(**options)
    except TypeError as error:
        raise BadSetting(f"pb.serve has no such option: {error}") from error
    made = Background(Server(roots_of(paths, links_out=settings.follow_links), settings))
    if block:
        made.wait()
    return made
