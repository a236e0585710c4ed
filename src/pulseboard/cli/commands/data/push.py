"""Copy runs to a ClickHouse database, and keep copying what is new.

Every point arrives exactly once. If the command is killed, start it again and it continues where it stopped.
Several hosts can push to one database, and several pushers can share a directory. Every log format works.

  pulseboard push runs/ clickhouse://db.example/team          until Ctrl-C
  pulseboard push runs/ clickhouse://db.example/team --once   what is there now, such as from cron
  pulseboard push runs/ clickhouse://db.example/team --brief  prints how many runs and new points there are
  pulseboard push mine:runs/ s3://bucket/runs clickhouse://me@db.example:8443/team?secure=1
  pulseboard clickhouse://db.example/team                     the dashboard of all of it

The database and its tables are created if they do not exist. The password is read from $PULSEBOARD_CLICKHOUSE_PASSWORD.
"""

from __future__ import annotations

import argparse
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING

from pulseboard.cli import options, terminal, wording
from pulseboard.cli.terminal import loading
from pulseboard.core.errors import PulseboardError

if TYPE_CHECKING:
    from pulseboard.database.push.pusher import Pusher
    from pulseboard.read.runs import Runs

_MAX_RETRY_SECS = 30.0
_DESCRIBE_SECS = 10.0


class BadPush(PulseboardError):
    """The arguments do not say what to push where."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="log directory, log file, URL, pattern, or name:path; the database is last",
    )
    parser.add_argument("--once", action="store_true", help="push what is there now, and end")
    parser.add_argument(
        "--media", action="store_true", help="push images and audio too; they stay in the log otherwise"
    )
    parser.add_argument(
        "--host",
        default=socket.gethostname(),
        metavar="NAME",
        help="name of this host in the database; give the same one on hosts that share a disk (default: %(default)s)",
    )
    options.add_forms(parser)


def run(args: argparse.Namespace) -> int:
    from pulseboard.database import schema
    from pulseboard.database.connection import Connection
    from pulseboard.database.push.pusher import Pusher
    from pulseboard.database.url import is_database, parse_url
    from pulseboard.read.runs import read

    *paths, url = args.paths
    if not is_database(url) or any(map(is_database, paths)) or not paths:
        raise BadPush(
            "Give one or more log directories, and then the database: pulseboard push runs/ clickhouse://HOST/DB"
        )
    connection = Connection(parse_url(url))
    schema.migrate(connection)
    with loading("Reading logs") as progress:
        runs = read(*paths, progress=progress)
    began = time.monotonic()
    with loading("Pushing points") as progress:
        pusher = Pusher(runs, connection, host=args.host, media=args.media, progress=progress)
        _push(pusher, None, retry=not args.once)
        while args.once and pusher.waiting and time.monotonic() - began < _MAX_RETRY_SECS:
            time.sleep(0.5)  # another pusher is at it
            runs.poll()
            pusher.push([])
    _report(args, runs, pusher, time.monotonic() - began)
    if args.once:
        return 0
    print(f"Following. Ctrl-C stops; what was pushed stays. {connection.url}", file=sys.stderr, flush=True)
    _follow(runs, pusher)
    return 0


def _report(args: argparse.Namespace, runs: Runs, pusher: Pusher, took_secs: float) -> None:
    if args.json:
        options.print_json({"schema": 1, "runs": len(runs), "points": pusher.points, "waiting": pusher.waiting})
        return
    if args.brief:
        terminal.print_rows([(str(len(runs)), str(pusher.points))])
        return
    total = sum(run.points for run in runs.values())
    there = f", {wording.plural(total - pusher.points, 'point')} there before" if total > pusher.points else ""
    print(
        f"Pushed {wording.plural(pusher.points, 'point')} of {wording.plural(len(runs), 'run')} "
        f"in {took_secs:.1f} s{there}.",
        flush=True,
    )


def _follow(runs: Runs, pusher: Pusher) -> None:
    stop = threading.Event()
    changed: dict[str, None] = {}
    lock, news = threading.Lock(), threading.Event()

    def watch() -> None:
        for changes in runs.follow(stop=stop):
            with lock:
                changed.update(dict.fromkeys((*changes.added, *changes.grown)))
            news.set()

    threading.Thread(target=watch, name="pulseboard-follow", daemon=True).start()
    described_at = time.monotonic()
    try:
        while True:
            news.wait(1.0 if pusher.waiting else _DESCRIBE_SECS)
            news.clear()
            with lock:
                names = list(changed)
                changed.clear()
            if names or pusher.waiting:
                runs.poll()
                _push(pusher, names, retry=True)
            if time.monotonic() - described_at >= _DESCRIBE_SECS:
                _push(pusher, names=None, retry=True, describe=True)
                described_at = time.monotonic()
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
    finally:
        stop.set()


def _push(pusher: Pusher, names: list[str] | None, *, retry: bool, describe: bool = False) -> None:
    """Push, and try again while the server is away: nothing is lost, it is in the log."""
    from pulseboard.database.connection import DatabaseError

    pause = 1.0
    while True:
        try:
            pusher.describe() if describe else pusher.push(names)
            if pause > 1.0:
                print("The database responds again.", file=sys.stderr, flush=True)
            return
        except DatabaseError as error:
            if not retry or not error.transient:
                raise
            if pause == 1.0:
                print(f"{error}\nTrying again until it works.", file=sys.stderr, flush=True)
            time.sleep(pause)
            pause = min(pause * 2, _MAX_RETRY_SECS)
