"""Wait until something happens to runs, then print it in one line and exit.

Conditions, of which the first that is met ends the wait (--until may be repeated):

  finding            any finding that is a warning or worse; finding=info, finding=critical set the severity
  finding=SLUG       this finding, such as finding=loss-nan
  step=N             a run has reached step N
  'TAG<VALUE'        the last value of a tag is below VALUE; > <= >= work too
  end                every run has ended (the default)

A recorded run says when it ends. Any other log counts as ended when it has not grown for --idle seconds.

  pulseboard wait runs/new                                  until the training has ended
  pulseboard wait runs/ -r new --until finding --timeout 600
  pulseboard wait runs/new --until step=1000 --until finding=critical
  pulseboard wait runs/new --until 'val/loss<0.5' --json

Exit codes: 0 a condition is met, 1 the runs ended before any was, 2 the input could not be read, 124 time is up.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pulseboard.cli import options, terminal

if TYPE_CHECKING:
    from pulseboard.read.runs import Runs


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_choice(parser, tags=False)
    parser.add_argument("--until", action="append", metavar="CONDITION", help="what to wait for (end); repeatable")
    parser.add_argument("--timeout", type=options.seconds, metavar="SECS", help="give up after this time")
    parser.add_argument(
        "--idle", type=options.seconds, default=300.0, metavar="SECS", help="silence that means a log has ended (300)"
    )


def run(args: argparse.Namespace) -> int:
    from pulseboard.agents.conditions import parse_condition
    from pulseboard.agents.wait import EXIT_CODES, wait_until

    conditions = [parse_condition(text) for text in args.until or ["end"]]
    log = options.load(args)
    if args.runs:
        options.chosen_runs(log, args)  # a misspelled name would never be met

    def chosen(runs: Runs) -> list[str]:
        return [run.name for run in options.chosen_runs(runs, args)]

    outcome = wait_until(log, conditions, chosen=chosen, timeout_secs=args.timeout, idle_secs=args.idle)
    if args.json:
        options.print_json(outcome.to_dict())
    else:
        label = {"met": outcome.until, "ended": "ended first", "timeout": "timeout"}[outcome.result]
        terminal.print_lines(["  ".join(part for part in (label, outcome.run, outcome.text) if part)])
    return EXIT_CODES[outcome.result]
