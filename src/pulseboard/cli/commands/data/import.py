"""Convert logs of other formats to event files, which TensorBoard reads too.

Reads CSV and JSON histories, Lightning's metrics.csv, the Trainer's trainer_state.json, W&B's .wandb files, MLflow's
mlruns/ and mlflow.db, the JSON log, and training output (docs/guides/reading.md describes each). Each run gets a
directory with its name below DEST. Runs that are event files already are skipped, and a directory that contains event
files is never written to. Nothing is rounded; a missing wall time is written as 0.

  pulseboard import mlruns/ runs/mlflow                every run of a directory
  pulseboard import train.log runs/                    one file
  pulseboard import wandb/ runs/ -r 'run-2025' -t loss   the losses of the runs whose names match
"""

# ruff: noqa: N999 (the module is named after its command)

from __future__ import annotations

import argparse
from typing import Any

from pulseboard.cli import options, terminal, wording
from pulseboard.cli.event_file_output import write_runs
from pulseboard.read.parsed_run import ParsedRun


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    parser.add_argument("dest", metavar="DEST", help="the directory to write runs to; created if needed")
    options.add_choice(parser)


def run(args: argparse.Namespace) -> None:
    found = options.load(args, files=True)
    chosen = options.chosen_runs(found, args)
    runs = [one for one in chosen if isinstance(one.main, ParsedRun)]
    picked = [(one, options.chosen_tags(one.tags("scalar"), args)) for one in runs]
    with terminal.loading("Importing") as progress:
        written = write_runs(picked, args.dest, progress=progress)
    _report(args, written, left_out=len(chosen) - len(runs), notes=found.notes())


def _report(args: argparse.Namespace, written: list[dict[str, Any]], *, left_out: int, notes: list[Any]) -> None:
    if args.json:
        records = options.note_records(notes)
        options.print_json({"schema": 1, "imported": written, "already_event_files": left_out, "notes": records})
        return
    if args.brief:
        terminal.print_rows((row["run"], row["format"], row["tags"], row["points"], row["output"]) for row in written)
        return
    terminal.print_notes(notes)
    console = terminal.console()
    if written:
        table = terminal.table("run", "format", "tags", "points", right=("tags", "points"), fold=("run",))
        for row in written:
            table.add_row(row["run"], row["format"], wording.count(row["tags"]), wording.count(row["points"]))
        terminal.print_table(table, leave_out=("tags", "format"))
        points = wording.plural(sum(row["points"] for row in written), "point")
        console.print(f"Wrote {wording.plural(len(written), 'run')}, {points}, to {args.dest}")
    else:
        console.print("Nothing to import: no logs of other formats found.")
    if left_out:
        console.print(f"Skipped {wording.plural(left_out, 'run')} of event files; they need no import.")
