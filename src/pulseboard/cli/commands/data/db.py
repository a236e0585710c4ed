"""Maintain a database of runs: check it, remove old points, and list what users changed.

  pulseboard db check clickhouse://db.example/team             each point stored exactly once; rollups and ledger match
  pulseboard db prune clickhouse://db.example/team --keep 90d  remove raw points of runs that ended before; rollups stay
  pulseboard db prune clickhouse://db.example/team --keep 90d --dry-run   what that would remove
  pulseboard db audit clickhouse://db.example/team             who changed marks and saved views, newest first
  pulseboard db check clickhouse://db.example/team --brief     a line per problem: kind, what, tag and run

Pinned runs are never pruned. --json and --brief work with each.

Exit codes: 0 all is well, 1 something is wrong, 2 the database cannot be used.
"""

from __future__ import annotations

import argparse
import re
import time
from typing import TYPE_CHECKING

from pulseboard.cli import options, terminal, wording
from pulseboard.core.errors import PulseboardError

if TYPE_CHECKING:
    from pulseboard.database.connection import Connection

_UNITS = {"h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("check", "prune", "audit"),
        help="check: compare points, rollups and ledger; prune: remove old points; audit: list changes by users",
    )
    parser.add_argument("database", metavar="URL", help="clickhouse://HOST/DATABASE")
    parser.add_argument(
        "--keep", type=duration, metavar="TIME", help="prune: keep runs that logged within this time, such as 90d"
    )
    parser.add_argument("--dry-run", action="store_true", help="prune: only print what would be removed")
    parser.add_argument("-n", "--rows", type=options.whole_number, default=50, help="audit: this many changes (50)")
    options.add_forms(parser)


def duration(text: str) -> float:
    """Parse `36h`, `90d` or `12w` to seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([hdw])", text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 36h, 90d or 12w")
    return float(found[1]) * _UNITS[found[2]]


def run(args: argparse.Namespace) -> int:
    from pulseboard.database import schema
    from pulseboard.database.connection import Connection
    from pulseboard.database.url import parse_url

    if args.action == "prune" and args.keep is None:
        raise PulseboardError("Say how long to keep raw points: pulseboard db prune URL --keep 90d")
    connection = Connection(parse_url(args.database))
    schema.require(connection)
    return {"check": _check, "prune": _prune, "audit": _audit}[args.action](connection, args)


def _check(connection: Connection, args: argparse.Namespace) -> int:
    from pulseboard.database.check import check

    found = check(connection)
    if args.json:
        options.print_json(found.to_dict())
        return 1 if found.problems else 0
    if args.brief:
        terminal.print_rows((one.kind, one.what, one.tag, one.run) for one in found.problems)
        return 1 if found.problems else 0
    for problem in found.problems:
        print(f"{problem.kind}: {problem.what}: {problem.tag or '(all tags)'} of {problem.run}")
    counts = [wording.plural(found.runs, "run"), f"{found.series:,} series", wording.plural(found.points, "point")]
    print(
        f"{', '.join(counts)}: "
        + (wording.plural(len(found.problems), "problem") if found.problems else "all is well.")
    )
    if found.open_plans:
        print(f"{wording.plural(found.open_plans, 'plan')} open: a pusher is working, or will continue once started.")
    return 1 if found.problems else 0


def _prune(connection: Connection, args: argparse.Namespace) -> int:
    from pulseboard.database.prune import prune

    found = prune(connection, keep_secs=args.keep, dry_run=args.dry_run)
    if args.json:
        options.print_json(found.to_dict())
    elif args.brief:
        terminal.print_rows([(str(found.runs), str(found.points), str(found.pinned))])
    else:
        did = "Would remove" if args.dry_run else "Removed"
        kept = f" {wording.plural(found.pinned, 'pinned run')} of that age kept." if found.pinned else ""
        print(f"{did} {wording.plural(found.points, 'point')} of {wording.plural(found.runs, 'run')}.{kept}")
    return 0


def _audit(connection: Connection, args: argparse.Namespace) -> int:
    sql = """SELECT toFloat64(at), who, server, kind, key, value FROM {db}.audit
    ORDER BY at DESC LIMIT {rows:UInt32}"""
    names = ("at", "who", "server", "kind", "key", "value")
    rows = [dict(zip(names, row, strict=True)) for row in connection.rows(sql, rows=args.rows)]
    if args.json:
        options.print_json({"schema": 1, "changes": rows})
        return 0
    cells = []
    for row in rows:
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row["at"]))
        cells.append((at, row["who"] or "-", row["server"], row["kind"], row["key"], row["value"] or "removed"))
    terminal.print_rows(cells)
    return 0
