"""Write every point of every run to one file (CSV, JSON or Parquet), or as event files for TensorBoard.

CSV is one long table with the header run,tag,step,wall_time,value. Numbers keep full precision; NaN and infinities
are written as nan, inf and -inf. Without -o, the output goes to standard output. Without --format, the file name
given to -o sets the format. --json without -o prints JSON; with -o it prints a summary of what was written as JSON.
With --format tensorboard, -o is a directory: each run gets a directory with its name there. A directory that contains
event files is never written to; a missing wall time is written as 0.

  pulseboard export runs/ -o all.csv                  every point of every run in one table
  pulseboard export runs/ -r baseline -t loss         the losses of one run, to standard output
  pulseboard export runs/ -f parquet -o all.parquet   for pandas, polars and DuckDB
  pulseboard export mlruns/ -f tensorboard -o tb/     event files, whatever the format of the logs
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile

from pulseboard.cli import options, terminal, wording
from pulseboard.cli.event_file_output import write_runs
from pulseboard.core.errors import PulseboardError
from pulseboard.export import write as export
from pulseboard.export.format import export_formats
from pulseboard.read.run import Run
from pulseboard.read.runs import Runs

_TENSORBOARD = "tensorboard"


class NoOutput(PulseboardError):
    """The export cannot be written."""


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_choice(parser)
    parser.add_argument(
        "-f",
        "--format",
        choices=(*export_formats(), _TENSORBOARD),
        help="default: by the extension of --output, else csv",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="file or directory to write; default: standard output")
    parser.add_argument(
        "--media",
        action="append",
        default=[],
        metavar="DIR",
        help="of a database, with -f tensorboard: directory or URL that holds the logs with images and audio",
    )
    parser.add_argument("--orphans", action="store_true", help="include points that a restart replaced")


def run(args: argparse.Namespace) -> None:
    form = args.format or ("json" if args.json and not args.output else _form_of(args.output))
    log = options.load(args)
    # Other ranks' own values are exported under their own names, such as exp/ranks/1.
    runs = [rank for run in options.chosen_runs(log, args) for rank in run.ranks.values()]
    if form == _TENSORBOARD:
        _write_event_files(args, [(run, options.chosen_tags(run.tags(), args)) for run in runs], log)
        return
    picked = [(run, options.chosen_tags(run.tags("scalar"), args)) for run in runs]
    if not args.output or args.output == "-":
        if form == "parquet" and sys.stdout.isatty():
            raise NoOutput("Parquet is binary and this is a terminal. Write to a file with -o FILE.")
        export.write(picked, sys.stdout.buffer, format=form, orphans=args.orphans)
        sys.stdout.buffer.flush()
        terminal.print_notes(log.notes())
        return
    points = _write_whole(args.output, picked, form, args)
    terminal.print_notes(log.notes())
    record = {
        "output": args.output,
        "format": form,
        "runs": len(runs),
        "points": points,
        "size_bytes": os.path.getsize(args.output),
    }
    if args.json:
        options.print_json({"schema": 1, **record})
    elif args.brief:
        terminal.print_rows([record.values()])
    else:
        size = wording.size(os.path.getsize(args.output))
        print(f"Wrote {wording.plural(points, 'point')} of {wording.plural(len(runs), 'run')} to {args.output}, {size}")


def _write_event_files(args: argparse.Namespace, picked: list[tuple[Run, list[str]]], log: Runs) -> None:
    if not args.output or args.output == "-":
        raise NoOutput("Event files are written to a directory. Give one with -o DIR.")
    try:
        with terminal.loading("Writing") as progress:
            written = write_runs(picked, args.output, orphans=args.orphans, progress=progress)
    except OSError as error:
        raise NoOutput(f"The export failed: {error.strerror}. Choose another directory: {args.output}") from error
    terminal.print_notes(log.notes())
    points = sum(record["points"] for record in written)
    if args.json:
        options.print_json(
            {"schema": 1, "output": args.output, "format": _TENSORBOARD, "runs": len(written), "points": points}
        )
    elif args.brief:
        terminal.print_rows([(args.output, _TENSORBOARD, len(written), points)])
    else:
        print(f"Wrote {wording.plural(points, 'point')} of {wording.plural(len(written), 'run')} to {args.output}")


def _form_of(output: str | None) -> str:
    suffix = os.path.splitext(output or "")[1].lstrip(".").lower()
    return suffix if suffix in export_formats() else "csv"


def _write_whole(output: str, picked: export.Selection, form: str, args: argparse.Namespace) -> int:
    """Write to a temporary file and rename it, so that an interrupted export leaves no partial file."""
    try:
        handle, part = tempfile.mkstemp(prefix=".pulseboard-", dir=os.path.dirname(os.path.abspath(output)))
    except OSError as error:
        raise NoOutput(f"Cannot write the export: {error.strerror}. Choose another file: {output}") from error
    try:
        with os.fdopen(handle, "wb") as stream, terminal.loading("Writing") as progress:
            points = export.write(picked, stream, format=form, orphans=args.orphans, progress=progress)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(part, 0o666 & ~umask)
        os.replace(part, output)
    except BaseException as error:
        os.unlink(part)
        if isinstance(error, OSError):
            raise NoOutput(f"The export failed: {error.strerror}. Nothing was written to {output}") from error
        raise
    return points
