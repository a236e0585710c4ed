"""Fill in a training guide: its metrics, ranges by stage, flowchart and patterns, with the values of a run.

The guide is that of a profile, chosen by the run's tags or with --profile. Its limits count as written, unlike those of
`pulseboard diagnose`, which are calibrated on healthy runs; footnotes say where healthy runs are known to break them.

  pulseboard guide runs/baseline                    the guide that fits the run
  pulseboard guide runs/ -r baseline --profile gpt  one run, another guide
  pulseboard guide runs/ --json                     for programs
  pulseboard guide runs/ --brief                    one line per metric: run, tag, value, verdict
  pulseboard guide runs/ --fail-on warning          exit code 1 if a metric or a check is at a warning or worse

Exit codes: 0 nothing at or above --fail-on (critical), 1 something is, 2 the input could not be read or no guide fits.
"""

from __future__ import annotations

import argparse

from pulseboard.cli import findings, options, terminal
from pulseboard.core.errors import PulseboardError
from pulseboard.core.finding import SEVERITIES


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_choice(parser, tags=False)
    parser.add_argument(
        "--profile", metavar="NAME|FILE", help="gpt, hjepa, diffusion, moe, visualization, or your own TOML file"
    )
    parser.add_argument(
        "--fail-on", choices=SEVERITIES, default="critical", help="exit with 1 at or above this severity (critical)"
    )


def run(args: argparse.Namespace) -> int:
    from pulseboard.diagnose.scorecard.scorecard import guide
    from pulseboard.diagnose.scorecard.text import lines_of

    log = options.load(args)
    chosen = {one.name for one in options.chosen_runs(log, args)} if args.runs else None
    cards = guide(log, profile=args.profile, runs=chosen)
    if not cards:
        raise PulseboardError(f"No runs found below {', '.join(root.location for root in log.log_directories)}")
    if args.json:
        options.print_json(cards.to_dict())
    elif args.brief:
        for card in cards:
            terminal.print_rows([(card.run, card.profile, card.status)])
            terminal.print_rows((card.run, row.tag, row.value, row.verdict) for row in card.metrics)
    else:
        width = min(terminal.console().width, 120)
        for card in cards:
            for line in lines_of(card, width=width):
                findings.print_line(line)
    return 1 if any(card.at_or_above(args.fail_on) for card in cards) else 0
