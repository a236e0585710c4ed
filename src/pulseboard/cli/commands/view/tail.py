"""Print the latest values of runs, one line per step; with -f, keep printing as they are logged.

Without -t, the first eight scalars are shown, those of the machine last. Ctrl-C ends -f.

  pulseboard tail runs/baseline                 the last ten steps
  pulseboard tail runs/ -r baseline -t loss -n 50   the losses of the last 50 steps
  pulseboard tail runs/baseline -f              keep printing
  pulseboard tail runs/baseline -f --json       one JSON object per line
"""

from __future__ import annotations

import argparse
import json

from pulseboard.cli import options, terminal, wording
from pulseboard.core.json_numbers import encode_numbers


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_choice(parser)
    parser.add_argument(
        "-n", "--rows", type=options.whole_number, default=10, metavar="ROWS", help="steps per run (10)"
    )
    parser.add_argument("-f", "--follow", action="store_true", help="keep printing what is logged")


def run(args: argparse.Namespace) -> None:
    from pulseboard.agents.tail import Follower, last_rows, shown_tags

    pattern = options.compiled(args.tag) if args.tag else None
    log = options.load(args)
    runs = options.chosen_runs(log, args)
    follower = Follower(log, [run.name for run in runs], pattern) if args.follow else None
    rows = {run.name: last_rows(run, shown_tags(run, pattern)[0], rows=args.rows) for run in runs}
    if args.json and follower is None:
        records = [{"run": run.name, "path": run.location, "rows": [_values(row.to_dict()) for row in rows[run.name]]}
                   for run in runs]  # fmt: skip
        options.print_json({"schema": 1, "runs": records})
        return
    if not runs and not args.json:
        terminal.print_lines(["No runs found: no event files or other supported logs."])
    several = len(runs) > 1
    for run in runs:
        for row in rows[run.name]:
            _print(row.line(with_run=several), row.to_dict(), args)
        left_out = shown_tags(run, pattern)[1]
        if left_out and not args.brief and not args.json:
            terminal.print_lines([f"… and {wording.plural(left_out, 'more tag')}; choose with -t REGEX."])
    if follower is not None:
        for row in follower.rows():
            _print(row.line(with_run=several), row.to_dict(), args)


def _print(line: str, record: dict[str, object], args: argparse.Namespace) -> None:
    if args.json:
        print(json.dumps(encode_numbers(record)), flush=True)
    else:
        terminal.print_lines([line])


def _values(record: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in record.items() if key != "run"}
