"""Serve the dashboard. `pulseboard LOGDIR` is short for it.

TensorBoard's flags work. By default it listens on this machine only, without a password, at port 6006 or the next
free port. With --bind_all or another --host, others can reach it with the token in the printed link.

  pulseboard runs/                               the dashboard for a log directory
  pulseboard --logdir runs/ --port 7007          TensorBoard's flags
  pulseboard mine:runs/ theirs:/data/runs        two log directories, each with a name
  pulseboard s3://bucket/runs ssh://gpu1/data/runs   remote directories
  pulseboard clickhouse://db/team                runs that `pulseboard push` put into a database
  pulseboard runs/ --alerts alerts.toml          send messages when something happens
  pulseboard runs/ --bind_all                    for everyone who has the link
  pulseboard runs/ --host 0.0.0.0 --certfile cert.pem --keyfile key.pem
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pulseboard.cli import advice
from pulseboard.core.errors import LogNotFound, PulseboardError
from pulseboard.core.locations import is_url
from pulseboard.rundir import layout

if TYPE_CHECKING:
    from pulseboard.alerts.rules_file import RulesFile
    from pulseboard.alerts.watcher import Watcher
    from pulseboard.record.settings import Settings
    from pulseboard.serve.live.dashboard import Dashboard
    from pulseboard.serve.server import Server

# TensorBoard's flags that have no effect here.
_IGNORED_FLAGS = {
    "reload_multifile": "every file of a run is always followed",
    "samples_per_plugin": "every point is kept",
    "max_reload_threads": "one thread per core is used",
    "load_fast": "there is only one loader, and it is fast",
}
_PROJECT_FILE = os.path.join("configs", "tensorboard.json")
_PROGRESS_SECS = 0.2
_PROGRESS_AFTER_SECS = 0.5


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="log directory, log file, URL, pattern, or name:path")
    parser.add_argument("--logdir", action="append", metavar="PATH", help="same as PATH")
    parser.add_argument("--logdir_spec", metavar="NAME:PATH,…", help="several named log directories")
    parser.add_argument("--host", help="address to listen on; default: localhost")
    parser.add_argument("--bind_all", action="store_true", help="listen on all addresses of this machine")
    parser.add_argument("--port", type=port_number, help="default: 6006 or the next free port; 0: any free port")
    parser.add_argument("--path_prefix", default="", metavar="PREFIX", help="serve below this path, such as /board")
    parser.add_argument("--window_title", default="Pulseboard", metavar="TITLE", help="title of the page")
    parser.add_argument(
        "--reload_interval",
        type=float,
        default=5.0,
        metavar="SECS",
        help="seconds between checks where file-system events do not work; 0: read once",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="print requests and bytes of remote directories")
    parser.add_argument(
        "--alerts",
        metavar="FILE",
        help="send messages by the rules in FILE, which the page can make (docs/guides/alerts.md)",
    )
    access = parser.add_argument_group("access")
    access.add_argument("--token", help="require this token; safer in $PULSEBOARD_TOKEN, which `ps` does not show")
    access.add_argument("--read_token", metavar="TOKEN", help="a token for read-only access")
    access.add_argument(
        "--token_file",
        metavar="FILE",
        help="lines of `read TOKEN NAME` or `full TOKEN NAME`; sha256:HASH works; `read@PREFIX` for some runs only",
    )
    access.add_argument(
        "--new_token", action="store_true", help="replace the token that --bind_all generated at an earlier start"
    )
    access.add_argument(
        "--allow_host",
        action="append",
        default=[],
        metavar="NAME",
        help="another host name of this server, such as behind a proxy",
    )
    access.add_argument(
        "--user_header", metavar="NAME", help="header in which a proxy names the user whom it has logged in"
    )
    access.add_argument(
        "--proxy", action="append", default=[], metavar="ADDRESS", help="address of such a proxy, if not this machine"
    )
    access.add_argument(
        "--follow_links", action="store_true", help="follow symlinks that lead out of the log directories"
    )
    access.add_argument(
        "--media",
        action="append",
        default=[],
        metavar="DIR",
        help="directory or URL that holds logs of runs in a database: images and audio are read there; repeatable",
    )
    access.add_argument("--certfile", metavar="FILE", help="TLS certificate")
    access.add_argument("--keyfile", metavar="FILE", help="TLS key")
    ignored = parser.add_argument_group("accepted for compatibility with TensorBoard, without effect")
    for name, why in _IGNORED_FLAGS.items():
        ignored.add_argument(f"--{name}", nargs="?", const="", metavar="VALUE", help=why)


def port_number(text: str) -> int:
    """Parse a port number."""
    if not text.isascii() or not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port number from 0 to 65535")
    return int(text)


def arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments without importing any other command."""
    parser = argparse.ArgumentParser(
        prog="pulseboard", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    configure(parser)
    return parser.parse_intermixed_args(argv)


def paths_of(args: argparse.Namespace) -> list[str]:
    """The log directories from PATH, --logdir and --logdir_spec."""
    # As in TensorBoard: name:path pairs separated by commas.
    spec = [part for part in (args.logdir_spec or "").split(",") if part]
    return [*args.paths, *(args.logdir or []), *spec]


def options_of(args: argparse.Namespace) -> dict[str, Any]:
    """The other options, named as in `pb.serve`."""
    return {
        "host": args.host or ("0.0.0.0" if args.bind_all else "localhost"),
        "port": args.port,
        "prefix": args.path_prefix,
        "title": args.window_title,
        "reload_secs": args.reload_interval,
        "token": args.token,
        "read_token": args.read_token,
        "token_file": args.token_file,
        "new_token": args.new_token,
        "allow_hosts": args.allow_host,
        "user_header": args.user_header,
        "proxies": args.proxy,
        "follow_links": args.follow_links,
        "media": args.media,
        "certfile": args.certfile,
        "keyfile": args.keyfile,
    }


def run(args: argparse.Namespace) -> int:
    for name, why in _IGNORED_FLAGS.items():
        if getattr(args, name) is not None:
            print(f"--{name} has no effect: {why}.", file=sys.stderr)
    from pulseboard.serve.settings import DEFAULT_PORT

    project = _project_settings()
    paths = paths_of(args) or ([project.runs_dir] if project is not None else [])
    if not paths:
        raise LogNotFound("(none)", why="no log directory given; try `pulseboard runs/`")
    if args.port is None and project is not None and project.port != DEFAULT_PORT:
        args.port = project.port
    from pulseboard.database.url import database_among
    from pulseboard.read.discovery.log_directory import log_directories_from
    from pulseboard.serve.server import Server
    from pulseboard.serve.settings import ServerSettings

    settings = ServerSettings(**options_of(args))
    database = database_among(paths)
    directories = [] if database else log_directories_from(paths, links_out=settings.follow_links, may_be_missing=True)
    missing = [one.path for one in directories if one.url is None and not os.path.exists(one.path)]
    rules_file, alerts = _started_alerts(args.alerts)
    server = Server(directories, settings, database=database)
    if alerts is not None:
        server.dashboard.alerts = rules_file
        server.dashboard.diagnosis.listen(alerts.take)
    try:
        missing += server.dashboard.runs.connect()
    except PulseboardError:  # such as missing credentials: nothing would ever be shown
        server.close()
        raise
    for path in missing:
        print(f"Waiting for {path}, which does not exist yet.", file=sys.stderr, flush=True)
    for path in paths:
        if not is_url(path) and not _exists(path) and (hint := advice.on_missing(path)):
            print(hint, file=sys.stderr, flush=True)
    loading = _Progress(server, verbose=args.verbose)
    try:
        server.dashboard.start(on_loaded=loading.done)
        _introduce(server, named=args.port is not None)
        loading.show()
        server.run()
    except KeyboardInterrupt:
        server.stop()  # before it started to listen
    print("\nStopped.", file=sys.stderr)
    if args.verbose:
        _print_traffic(server)
    return 0


def _exists(given: str) -> bool:
    path = layout.split_named_path(given)[1]
    return "*" in path or os.path.exists(path)


def has_project_settings() -> bool:
    """Whether the working directory has a file that names the log directory."""
    return os.path.isfile(_PROJECT_FILE)


def _started_alerts(path: str | None) -> tuple[RulesFile | None, Watcher | None]:
    """A file of rules and a watcher with them, which also looks for runs that stall or end."""
    if path is None:
        return None, None
    import threading

    from pulseboard.alerts.rules_file import RulesFile
    from pulseboard.alerts.watcher import keep_ticking
    from pulseboard.cli.commands.diagnosis.alerts import started

    file = RulesFile(path)
    if not os.path.exists(file.path):
        print(f"There are no rules for alerts yet. Add them on the page; they go to {path}", file=sys.stderr)
    watcher, _ = started(file)
    threading.Thread(
        target=keep_ticking, args=(watcher, threading.Event()), name="pulseboard-tick", daemon=True
    ).start()
    return file, watcher


def _project_settings() -> Settings | None:
    """The settings of `configs/tensorboard.json` in the working directory; None if there is no such file."""
    if not has_project_settings():
        return None
    from pulseboard.record.settings import load_settings

    return load_settings()[0]


def _introduce(server: Server, *, named: bool) -> None:
    from pulseboard.serve.http.sockets import ssh_tunnel_command, url_of
    from pulseboard.serve.settings import DEFAULT_PORT

    settings, port = server.settings, server.port
    if not named and port != DEFAULT_PORT:
        print(f"Port {DEFAULT_PORT} is in use; using {port}.", file=sys.stderr)
    print(f"Pulseboard is at {url_of(settings, port)}  (Ctrl-C to stop)", flush=True)
    if settings.generated_token:
        print(
            "Anyone with this link can view runs and set marks. The token stays the same at the next start; only its "
            "hash is kept. On this machine none is needed.",
            flush=True,
        )
        settings.generated_token = None
    elif settings.open_locally:
        print(
            "Other machines need the token of an earlier start, whose hash is kept; --new_token replaces it.",
            flush=True,
        )
    if not settings.is_local and settings.scheme == "http":
        print(
            "Without TLS, the token and everything shown can be read on the network. Use --certfile, ssh, or a proxy.",
            file=sys.stderr,
            flush=True,
        )
    if line := ssh_tunnel_command(settings, port):
        print(
            f"From your own machine:  {line}\nthen open {settings.scheme}://localhost:{port}{settings.prefix}/",
            flush=True,
        )


def _print_traffic(server: Server) -> None:
    from pulseboard.cli.options import print_traffic

    print_traffic(server.dashboard.runs)


class _Progress:
    """A progress line for the first load, shown if it takes long."""

    def __init__(self, server: Server, *, verbose: bool) -> None:
        self._server, self._verbose = server, verbose
        self._dashboard = server.dashboard
        self._began = time.monotonic()
        self._shown = False

    def show(self) -> None:
        """Start printing progress from a background thread."""
        import threading

        if sys.stderr.isatty():
            threading.Thread(target=self._print, name="pulseboard-progress", daemon=True).start()

    def _print(self) -> None:
        time.sleep(_PROGRESS_AFTER_SECS)
        while (loading := self._dashboard.loading) is not None and not self._dashboard.closed:
            self._shown = True
            print(f"\rReading {loading.done:,} of {loading.total:,} files", end="", file=sys.stderr, flush=True)
            time.sleep(_PROGRESS_SECS)

    def done(self, dashboard: Dashboard) -> None:
        """Print a summary of what was read."""
        from pulseboard.cli import wording

        took = time.monotonic() - self._began
        points = sum(run.points for run in dashboard.runs.values())
        summary = (
            f"{wording.plural(len(dashboard.runs), 'run')}, {wording.plural(points, 'point')}, read in {took:.1f} s."
        )
        print(("\r" if self._shown else "") + summary, file=sys.stderr, flush=True)
        if not dashboard.runs:
            for line in advice.on_empty(one.path for one in dashboard.runs.log_directories if one.url is None):
                print(line, file=sys.stderr)
            print(f"Runs appear on the page when something is logged. {advice.DEMO}", file=sys.stderr, flush=True)
        if self._verbose:
            _print_traffic(self._server)
        outside = [note for note in dashboard.runs.notes() if "leads out of the log directories" in note.what]
        if outside:
            print(
                f"Skipped {wording.plural(len(outside), 'link')} that lead out of the log directories; "
                "serve them with --follow_links.",
                file=sys.stderr,
            )
