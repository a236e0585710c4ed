"""List runs, most recently active first.

One line per run: last step, points, tags, start, duration and size. Damaged files are reported on standard error;
everything else is still read.

  pulseboard ls runs/                        every run below a log directory
  pulseboard ls runs/ -r '^sweep/'           runs whose names match
  pulseboard ls mine:runs/ theirs:/data/runs   two log directories, each with a name
  pulseboard ls runs/ --brief                run, last step, points, tags and start, separated by tabs
  pulseboard ls runs/ --json                 for programs, with all notes about damaged files
"""

from __future__ import annotations

import argparse
import math

from pulseboard.cli import options, terminal, wording
from pulseboard.read.run import Run


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_choice(parser, tags=False)


def run(args: argparse.Namespace) -> None:
    log = options.load(args)
    runs = options.chosen_runs(log, args)
    if args.json:
        options.print_json(
            {
                "schema": 1,
                "runs": [_record(run) for run in runs],
                "notes": options.note_records(log.notes()),
            }
        )
        return
    if args.brief:
        terminal.print_rows(
            (run.name, run.last_step, run.points, len(run.tags()), wording.date(run.started)) for run in runs
        )
        return
    terminal.print_notes(log.notes())
    console = terminal.console()
    if not runs:
        console.print("No runs found: no event files or other supported logs in:")
        console.print("  " + "\n  ".join(root.location for root in log.log_directories))
        return
    columns = ("run", "last step", "points", "tags", "kinds", "started", "ran for", "size")
    table = terminal.table(*columns, right=("last step", "points", "tags", "ran for", "size"), fold=("run", "kinds"))
    for run in runs:
        step = run.last_step
        table.add_row(
            run.name,
            "-" if step is None else wording.count(step),
            wording.count(run.points),
            wording.count(len(run.tags())),
            ", ".join(run.kinds()) or "empty",
            wording.date(run.started),
            wording.duration(run.ended - run.started),
            wording.size(run.size_bytes),
        )
    terminal.print_table(table, leave_out=("kinds", "ran for", "size", "tags", "points"))
    total = sum(run.size_bytes for run in runs)
    points = sum(run.points for run in runs)
    console.print(f"{wording.plural(len(runs), 'run')}, {wording.plural(points, 'point')}, {wording.size(total)}")


def _record(run: Run) -> dict[str, object]:
    return {
        "run": run.name,
        "aliases": list(run.aliases),
        "path": run.location,
        "files": len(run.paths()),
        "last_step": run.last_step,
        "points": run.points,
        "tags": len(run.tags()),
        "kinds": run.kinds(),
        "started": None if math.isnan(run.started) else run.started,
        "ended": None if math.isnan(run.ended) else run.ended,
        "size_bytes": run.size_bytes,
        "restarts": len(run.restarts()),
        "axis": run.axis.as_dict(),
    }
