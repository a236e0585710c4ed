"""Look after a database of runs: check it.

  pulseboard db check clickhouse://db.example/team          every point once, rollups and ledger as they must be
  pulseboard db check clickhouse://db.example/team --json   for programs
  pulseboard db check clickhouse://db.example/team --brief  a line per problem: kind, what, tag and run

Exit codes: 0 all is well, 1 something is wrong, 2 the database cannot be read.
"""

from __future__ import annotations

import argparse

from pulseboard.cli import options, terminal, wording


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("check",), help="compare points, rollups and the ledger with each other")
    parser.add_argument("database", metavar="URL", help="clickhouse://HOST/DATABASE")
    options.add_forms(parser)


def run(args: argparse.Namespace) -> int:
    from pulseboard.database import schema
    from pulseboard.database.check import check
    from pulseboard.database.connection import Connection
    from pulseboard.database.url import parse_url

    connection = Connection(parse_url(args.database))
    schema.require(connection)
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
        print(
            f"{wording.plural(found.open_plans, 'plan')} open: a pusher is at work, or will go on when it is started."
        )
    return 1 if found.problems else 0
