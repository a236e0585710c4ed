"""Write logs of other formats as event files, which every command and TensorBoard read.

CSV and JSON histories, Lightning's metrics.csv, the Trainer's trainer_state.json, W&B's .wandb files,
MLflow's mlruns/ and mlflow.db, the JSON log, and what a training printed: docs/reading.md tells of each.
Every run gets a directory of its own name below DEST. Runs that are event files already are left out,
and a directory that holds event files is not written to. Nothing is rounded; a wall time that a log does
not have is written as 0.

  pulseboard import mlruns/ runs/mlflow                every run of a directory
  pulseboard import train.log runs/                    one file
  pulseboard import wandb/ runs/ -r 'run-2025' -t loss   those whose names match, and of them the losses
"""

# ruff: noqa: N999 (a module is named for its command)

from __future__ import annotations

import argparse
import os
import re
from typing import Any

from pulseboard.cli import options, terminal, wording
from pulseboard.core.errors import PulseboardError
from pulseboard.files import layout
from pulseboard.read.foreign import ForeignRun
from pulseboard.record.series_file import write_series


class Occupied(PulseboardError):
    """There are event files where a run is to be written."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        super().__init__(
            "There are event files already, and points would be there twice. "
            f"Name another DEST, or remove them first: {directory}"
        )


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    parser.add_argument("dest", metavar="DEST", help="the directory to write runs below; made if need be")
    options.add_choice(parser)


def run(args: argparse.Namespace) -> None:
    found = options.load_any(args)
    chosen = options.chosen_runs(found, args)
    runs = [one for one in chosen if isinstance(one, ForeignRun)]
    targets = [os.path.join(args.dest, *_parts(one.name)) for one in runs]
    for target in targets:
        _refuse_occupied(target)
    written: list[dict[str, Any]] = []
    with terminal.loading("Importing") as progress:
        for one, target in zip(runs, targets, strict=True):
            written.append(_written(one, target, options.chosen_tags(one.tags("scalar"), args)))
            if progress is not None:
                progress(len(written), len(runs))
    _tell(args, written, left_out=len(chosen) - len(runs), notes=found.notes())


def _parts(name: str) -> list[str]:
    """A run's name as directories. A database may hold any name, and none must lead out of DEST."""
    parts = [re.sub(r"[\x00-\x1f]", "_", part)[:200] for part in name.split("/")]
    return ["_" * len(part) if part == ".." else part for part in parts if part not in ("", ".")]


def _refuse_occupied(directory: str) -> None:
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return
    if any(map(layout.is_event_file, names)):
        raise Occupied(directory)


def _written(one: ForeignRun, target: str, tags: list[str]) -> dict[str, Any]:
    hparams = one.hparams()
    series = [one.series(tag) for tag in tags]
    path = write_series(target, series=series, config=hparams.values if hparams else None)
    return {
        "run": one.name,
        "format": one.format,
        "source": one.path,
        "output": path,
        "tags": len(tags),
        "points": sum(map(len, series)),
    }


def _tell(args: argparse.Namespace, written: list[dict[str, Any]], *, left_out: int, notes: list[Any]) -> None:
    if args.json:
        told = [{"level": n.level, "what": n.what, "path": n.path, "byte": n.byte} for n in notes]
        options.print_json({"schema": 1, "imported": written, "already_event_files": left_out, "notes": told})
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
        console.print("Nothing to import: no log of another format was found.")
    if left_out:
        console.print(f"Left out {wording.plural(left_out, 'run')} of event files, which need no import.")
