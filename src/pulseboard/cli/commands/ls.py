"""List the runs, the most recently active first.

One line a run: its last step, scalar points, tags, when it started, how long it ran, its size.
Damaged files are told on standard error; everything else is still read.

  pulseboard ls runs/                        every run below a log directory
  pulseboard ls runs/ -r '^sweep/'           those whose names match
  pulseboard ls mine:runs/ theirs:/data/runs   two log directories, told apart by names
  pulseboard ls runs/ --json                 the same for programs, with all notes on damaged files
"""

from __future__ import annotations

import argparse
import math

from pulseboard.cli import options, terminal, wording
from pulseboard.read.every_run import AnyRun


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_choice(parser, tags=False)


def run(args: argparse.Namespace) -> None:
    log = options.load_any(args)
    runs = options.chosen_runs(log, args)
    if args.json:
        options.print_json(
            {
                "schema": 1,
                "runs": [_record(run) for run in runs],
                "notes": [{"level": n.level, "what": n.what, "path": n.path, "byte": n.byte} for n in log.notes()],
            }
        )
        return
    terminal.print_notes(log.notes())
    console = terminal.console()
    if not runs:
        console.print("No runs: no event file (a name with 'tfevents' in it) is here, and no log of another format.")
        console.print("  " + "\n  ".join(root.path for root in log.roots))
        return
    columns = ("run", "last step", "points", "tags", "kinds", "started", "ran for", "size")
    table = terminal.table(*columns, right=("last step", "points", "tags", "ran for", "size"), fold=("run", "kinds"))
    for run in runs:
        step = _last_step(run)
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


def _last_step(run: AnyRun) -> int | None:
    return max((stats.max_step for stats in run.stats() if stats.count), default=None)


def _record(run: AnyRun) -> dict[str, object]:
    return {
        "run": run.name,
        "aliases": list(run.aliases),
        "path": run.directory,
        "files": len(run.files),
        "last_step": _last_step(run),
        "points": run.points,
        "tags": len(run.tags()),
        "kinds": run.kinds(),
        "started": None if math.isnan(run.started) else run.started,
        "ended": None if math.isnan(run.ended) else run.ended,
        "size_bytes": run.size_bytes,
        "restarts": len(run.restarts()),
    }
