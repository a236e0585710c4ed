"""Check that a run is as good as earlier runs of the same training, for CI.

Fails if a loss, error or score is worse than the range of the earlier runs, if there is a finding that they do not
have, if the run ended early, or if it needs more time per step or more memory. A value is the median of the last tenth
of its points. In GitHub Actions, the summary is added to the job's page automatically.

  pulseboard gate runs/new --against runs/base                       one earlier run
  pulseboard gate runs/new --against runs/good-1 runs/good-2 runs/good-3
  pulseboard gate runs/ -r new --against good/ -t '^val/' --tolerance 0.02
  pulseboard gate runs/new --against runs/base --markdown summary.md

Exit codes: 0 passed, 1 failed, 2 the input could not be read.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from pulseboard.cli import options, terminal
from pulseboard.core.errors import PulseboardError
from pulseboard.core.finding import SEVERITIES
from pulseboard.read.runs import read

if TYPE_CHECKING:
    from pulseboard.agents.gate import GateResult, Limits


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_choice(parser)
    parser.add_argument("--against", nargs="+", required=True, metavar="BASE", help="earlier runs; a directory of them")
    for name, default, what in (
        ("tolerance", 0.05, "how much worse than the worst earlier run a metric may be, as a share (0.05)"),
        ("max-slowdown", 0.2, "how much more time a step may take (0.2)"),
        ("max-memory", 0.1, "how much more memory it may need (0.1)"),
    ):
        parser.add_argument(f"--{name}", type=options.share, default=default, metavar="SHARE", help=what)
    parser.add_argument(
        "--fail-on", choices=SEVERITIES, default="warning", help="new findings count from this severity (warning)"
    )
    parser.add_argument("--markdown", metavar="FILE", help="write a summary for a pull request")


def run(args: argparse.Namespace) -> int:
    from pulseboard.agents.gate import Limits, gate, gate_lines, gate_markdown, metrics_of
    from pulseboard.agents.subjects import subject_of, trainings_of

    log = options.load(args)
    chosen = [one.name for one in options.chosen_runs(log, args)] if args.runs else None
    found = list(trainings_of(log, chosen))
    if len(found) != 1:
        raise PulseboardError(f"The gate checks one run, but {len(found)} are selected. Choose one with -r NAME.")
    mine = subject_of(found[0])
    earlier = [one for one in map(subject_of, trainings_of(read(*args.against))) if one.report.path != mine.report.path]
    if not earlier:
        raise PulseboardError(f"No earlier runs found below {', '.join(args.against)}")
    tags = options.chosen_tags(metrics_of(earlier), args)
    if not tags:
        raise PulseboardError(
            "No metric to compare: the earlier runs have no loss, error or score in common that matches. "
            "`pulseboard show` lists the tags."
        )
    limits = Limits(args.tolerance, args.max_slowdown, args.max_memory, args.fail_on)
    result = gate(mine, earlier, tags=tags, limits=limits)
    _write_summary(gate_markdown(result, limits), args.markdown)
    if args.json:
        options.print_json(result.to_dict())
    elif args.brief:
        terminal.print_lines(gate_lines(result))
    else:
        _print(result, limits)
    return 0 if result.passed else 1


def _print(result: GateResult, limits: Limits) -> None:
    from rich.text import Text

    console = terminal.console()
    word, style = ("passed", "bold green") if result.passed else ("failed", "bold red")
    console.print(Text.assemble((word, style), f"  {result.run} against {', '.join(result.against)}"), soft_wrap=True)
    console.print(f"Diagnosis: {result.verdict}\n", soft_wrap=True)
    table = terminal.table("", "check", "of", "result", fold=("of", "result"))
    signs = {True: ("✔", "green"), False: ("✖", "red"), None: ("-", "dim")}
    for check in sorted(result.checks, key=lambda check: check.passed is not False):
        table.add_row(Text(*signs[check.passed]), check.kind, check.name, check.text)
    terminal.print_table(table)


def _write_summary(text: str, path: str | None) -> None:
    """Write the summary to a file, and append it to the page of the job where GitHub runs it."""
    if path:
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
        print(f"Wrote {path}", file=sys.stderr)
    if of_job := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(of_job, "a", encoding="utf-8") as stream:
            stream.write(text)
