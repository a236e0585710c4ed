"""Serve the dashboard: `pulseboard LOGDIR` does the same.

Every flag of TensorBoard's that has a meaning here works. Listens on this machine only, without a password, at port
6006 or the next that is free. With --bind_all or another --host, others reach it too, and need the token in the link
that is printed.

  pulseboard runs/                               the dashboard of a log directory
  pulseboard --logdir runs/ --port 7007          as TensorBoard is called
  pulseboard mine:runs/ theirs:/data/runs        two log directories, told apart by names
  pulseboard runs/ --bind_all                    for everybody who has the link
  pulseboard runs/ --host 0.0.0.0 --certfile cert.pem --keyfile key.pem
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pulseboard.core.errors import LogNotFound

if TYPE_CHECKING:
    from pulseboard.serve.board import Board
    from pulseboard.serve.server import Server

# TensorBoard's flags that have no work left to do.
_NO_LONGER_NEEDED = {
    "reload_multifile": "every file of a run is always followed",
    "samples_per_plugin": "every point is kept",
    "max_reload_threads": "there are as many as cores",
    "load_fast": "there is one loader, and it is fast",
}
_PROGRESS_SECS = 0.2
_QUIET_SECS = 0.5


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="log directory, event file, or name:path")
    parser.add_argument("--logdir", action="append", metavar="PATH", help="the same as PATH")
    parser.add_argument("--logdir_spec", metavar="NAME:PATH,…", help="several log directories, with names")
    parser.add_argument("--host", help="listen at this address; default: localhost")
    parser.add_argument("--bind_all", action="store_true", help="listen at all addresses of this machine")
    parser.add_argument("--port", type=port_number, help="default: 6006 or the next that is free; 0: any that is free")
    parser.add_argument("--path_prefix", default="", metavar="PREFIX", help="serve below this path, such as /board")
    parser.add_argument("--window_title", default="Pulseboard", metavar="TITLE", help="the title of the page")
    parser.add_argument(
        "--reload_interval",
        type=float,
        default=5.0,
        metavar="SECS",
        help="look so often where the file system tells of no changes; 0: read once",
    )
    access = parser.add_argument_group("who may look")
    access.add_argument("--token", help="ask for this token; better in $PULSEBOARD_TOKEN, which `ps` does not show")
    access.add_argument("--read_token", metavar="TOKEN", help="a token that may look and change nothing")
    access.add_argument("--token_file", metavar="FILE", help="lines of `read TOKEN` or `full TOKEN`; sha256:HASH works")
    access.add_argument(
        "--allow_host", action="append", default=[], metavar="NAME", help="another name of this server, behind a proxy"
    )
    access.add_argument("--follow_links", action="store_true", help="also links that lead out of the log directories")
    access.add_argument("--certfile", metavar="FILE", help="TLS: the certificate")
    access.add_argument("--keyfile", metavar="FILE", help="TLS: its key")
    ignored = parser.add_argument_group("taken from TensorBoard, and no longer needed")
    for name, why in _NO_LONGER_NEEDED.items():
        ignored.add_argument(f"--{name}", nargs="?", const="", metavar="VALUE", help=why)


def port_number(said: str) -> int:
    """A port as it was typed."""
    if not said.isascii() or not said.isdecimal() or int(said) > 65535:
        raise argparse.ArgumentTypeError(f"{said!r} is no port; use 0 to 65535")
    return int(said)


def arguments(argv: Sequence[str]) -> argparse.Namespace:
    """The command's arguments, read without loading any other command."""
    parser = argparse.ArgumentParser(
        prog="pulseboard", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    configure(parser)
    return parser.parse_intermixed_args(argv)


def paths_of(args: argparse.Namespace) -> list[str]:
    """The log directories, however they were named."""
    # TensorBoard's --logdir may hold several with names, too, divided by commas.
    spec = [part for part in (args.logdir_spec or "").split(",") if part]
    return [*args.paths, *(args.logdir or []), *spec]


def options_of(args: argparse.Namespace) -> dict[str, Any]:
    """The rest, by the names of `pb.serve`."""
    return {
        "host": args.host or ("0.0.0.0" if args.bind_all else "localhost"),
        "port": args.port,
        "prefix": args.path_prefix,
        "title": args.window_title,
        "reload_secs": args.reload_interval,
        "token": args.token,
        "read_token": args.read_token,
        "token_file": args.token_file,
        "allow_hosts": args.allow_host,
        "follow_links": args.follow_links,
        "certfile": args.certfile,
        "keyfile": args.keyfile,
    }


def run(args: argparse.Namespace) -> int:
    for name, why in _NO_LONGER_NEEDED.items():
        if getattr(args, name) is not None:
            print(f"--{name} is no longer needed: {why}.", file=sys.stderr)
    paths = paths_of(args)
    if not paths:
        raise LogNotFound("(none)", why="no log directory was given, as in `pulseboard runs/`")
    from pulseboard.read.discover import roots_of
    from pulseboard.serve.server import Server
    from pulseboard.serve.settings import Settings

    settings = Settings(**options_of(args))
    server = Server(roots_of(paths, links_out=settings.follow_links), settings)
    loading = _Progress(server)
    try:
        server.board.start(on_loaded=loading.done)
        _introduce(server, named=args.port is not None)
        loading.show()
        server.run()
    except KeyboardInterrupt:
        server.stop()  # before it answered
    print("\nStopped.", file=sys.stderr)
    return 0


def _introduce(server: Server, *, named: bool) -> None:
    from pulseboard.serve.listening import address, tunnel
    from pulseboard.serve.settings import DEFAULT_PORT

    settings, port = server.settings, server.port
    if not named and port != DEFAULT_PORT:
        print(f"Port {DEFAULT_PORT} is taken; using {port}.", file=sys.stderr)
    print(f"Pulseboard is at {address(settings, port)}  (Ctrl-C ends it)", flush=True)
    if settings.made_token:
        print(
            "Whoever has this link may look and set marks. It changes with every start; --token sets one.", flush=True
        )
        settings.made_token = None
    if line := tunnel(settings, port):
        print(
            f"From your own machine:  {line}\nthen open {settings.scheme}://localhost:{port}{settings.prefix}/",
            flush=True,
        )


class _Progress:
    """How far the first reading is, in one line of the terminal, while it takes long enough to ask."""

    def __init__(self, server: Server) -> None:
        self._board = server.board
        self._began = time.monotonic()
        self._shown = False

    def show(self) -> None:
        """Begin to tell, beside the server."""
        import threading

        if sys.stderr.isatty():
            threading.Thread(target=self._tell, name="pulseboard-progress", daemon=True).start()

    def _tell(self) -> None:
        time.sleep(_QUIET_SECS)
        while (loading := self._board.loading) is not None and not self._board.closed:
            self._shown = True
            print(f"\rReading {loading.done:,} of {loading.total:,} files", end="", file=sys.stderr, flush=True)
            time.sleep(_PROGRESS_SECS)

    def done(self, board: Board) -> None:
        """Tell what was read."""
        from pulseboard.cli import wording

        took = time.monotonic() - self._began
        points = sum(run.points for run in board.log.values())
        said = f"{wording.plural(len(board.log), 'run')}, {wording.plural(points, 'point')}, read in {took:.1f} s."
        print(("\r" if self._shown else "") + said, file=sys.stderr, flush=True)
        outside = [note for note in board.log.notes() if "leads out of the log directories" in note.what]
        if outside:
            print(
                f"Left out {wording.plural(len(outside), 'link')} that lead out of the log directories; "
                "--follow_links serves them too.",
                file=sys.stderr,
            )
