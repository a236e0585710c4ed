"""The server: sockets, dashboard and application put together and run."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

from pulseboard.core.errors import PulseboardError
from pulseboard.serve.http.sockets import listen, over_ssh
from pulseboard.serve.settings import BadSetting, ServerSettings

if TYPE_CHECKING:
    from pulseboard.read.discovery.log_directory import LogDirectory
    from pulseboard.serve.http.uvicorn_server import UvicornServer
    from pulseboard.serve.live.dashboard import Dashboard


# After SIGTERM or Ctrl-C: responses get a second, the index is written, and then the process ends, whatever still runs.
_GRACE_SECS = 4.0
_WARNING_SECS = 0.5

_log = logging.getLogger("pulseboard.serve")


class Server:
    """A server over some log directories, or a database. Listens as soon as it is created; `run` handles requests."""

    def __init__(
        self, log_directories: Sequence[LogDirectory], settings: ServerSettings, *, database: str | None = None
    ) -> None:
        from pulseboard.serve.live.dashboard import Dashboard

        self.settings = settings
        self.sockets: list[socket.socket] = listen(settings)
        self.port: int = self.sockets[0].getsockname()[1]
        self.guard = settings.guard(port=self.port)
        wanted = {token.project for token in self.guard.tokens} - {""}
        try:
            if wanted and database is None:
                raise BadSetting("Tokens of projects (`read@PREFIX`) need a database: pulseboard clickhouse://HOST/DB")
            if settings.media and database is None:
                raise BadSetting(
                    "--media says where logs of a database are: pulseboard clickhouse://HOST/DB --media DIR"
                )
            of_all: dict[str, Any] = {"title": settings.title, "database": database, "media": settings.media}
            self.dashboard: Dashboard = Dashboard(log_directories, every_secs=settings.reload_secs, **of_all)
            self._projects = {project: Dashboard([], project=project, **of_all) for project in wanted}
        except PulseboardError:  # a database that cannot be used
            for listener in self.sockets:
                listener.close()
            raise
        self.ready = threading.Event()  # set when it answers requests, and when it failed to start
        self.error: BaseException | None = None  # why it failed
        self._uvicorn: UvicornServer | None = None
        self._stopping = False

    def run(self) -> None:
        """Handle requests until `stop` is called. In the main thread, SIGINT and SIGTERM stop it too.

        After such a signal the process ends within seconds, also if a thread hangs.
        """
        if threading.current_thread() is not threading.main_thread():
            self._serve()
            return
        # uvicorn handles signals itself if it runs in the main thread, and raises them again when it has stopped.
        thread = threading.Thread(target=self.run_in_background, name="pulseboard-server", daemon=True)
        with self._signals_handled():
            thread.start()
            while thread.is_alive():
                thread.join(0.5)  # without a timeout, Ctrl-C would not interrupt it on Windows
        if self.error is not None:
            raise self.error

    def run_in_background(self) -> None:
        """Handle requests until `stop` is called. An error is kept in `error` for the thread that waits."""
        with contextlib.suppress(BaseException):
            self._serve()

    @contextlib.contextmanager
    def _signals_handled(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if not self._stopping:
            threading.Thread(target=_end_process, args=(_GRACE_SECS,), name="pulseboard-end", daemon=True).start()
        elif self._uvicorn is not None:
            self._uvicorn.force_exit = True  # the second signal: do not wait for responses
        self.stop()

    def _serve(self) -> None:
        try:
            with contextlib.ExitStack() as cleanup:
                for listener in self.sockets:
                    cleanup.callback(listener.close)
                for dashboard in self._dashboards:
                    cleanup.callback(dashboard.close)
                self._serve_until_stopped(cleanup)
        except BaseException as error:
            self.error = error
            raise
        finally:
            self.ready.set()

    def _serve_until_stopped(self, cleanup: contextlib.ExitStack) -> None:
        # The dashboard's thread reads, mostly without the GIL, while these modules load.
        from pulseboard.serve.http import uvicorn_server
        from pulseboard.serve.http.app import App
        from pulseboard.serve.http.page import Page

        app = App(
            self.dashboard,
            guard=self.guard,
            page=Page(title=self.settings.title),
            prefix=self.settings.prefix,
            projects=self._projects,
            over_ssh=over_ssh(),
            on_ready=self.ready.set,
        )
        cleanup.callback(app.close)
        for dashboard in self._projects.values():
            dashboard.start()
        self._uvicorn = uvicorn_server.create(app, certfile=self.settings.certfile, keyfile=self.settings.keyfile)
        if not self._stopping:
            self._uvicorn.run(sockets=self.sockets)

    def close(self) -> None:
        """Stop listening, if it never ran."""
        for listener in self.sockets:
            listener.close()
        for dashboard in self._dashboards:
            dashboard.close()

    @property
    def _dashboards(self) -> list[Dashboard]:
        return [self.dashboard, *self._projects.values()]

    def stop(self) -> None:
        """Stop soon: streams end, and responses in progress get one second. Safe in any thread and signal handler."""
        self._stopping = True
        for dashboard in self._dashboards:
            dashboard.closed = True
        if self._uvicorn is not None:
            self._uvicorn.should_exit = True
        # On a thread: a signal may interrupt code that holds the lock which `notify` takes.
        for dashboard in self._dashboards:
            threading.Thread(target=dashboard.revisions.notify, daemon=True).start()


def _end_process(after_secs: float) -> None:
    """End the process if it is still there. A thread that waits for a disk or a lock cannot be ended otherwise."""
    time.sleep(after_secs)
    said = "Some work did not stop within %.0f s; ending without it."
    # On a thread: writing waits forever if nobody reads what the process prints.
    warning = threading.Thread(target=_log.warning, args=(said, after_secs), daemon=True)
    warning.start()
    warning.join(_WARNING_SECS)
    os._exit(0)
