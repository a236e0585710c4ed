"""Write every point of every run to one file: CSV, JSON or Parquet.

CSV is one long table with the header run,tag,step,wall_time,value; numbers are written so that they read
back exactly, NaN and infinities as nan, inf and -inf. Without -o the table goes to standard output.
The format is taken from the name given to -o where --format is left out. --json without -o is JSON
to standard output; with -o it tells of the file that was written.

  pulseboard export runs/ -o all.csv                  every point of every run in one table
  pulseboard export runs/ -r baseline -t loss         one run's losses to standard output
  pulseboard export runs/ -f parquet -o all.parquet   for pandas, polars and DuckDB
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile

from pulseboard.cli import options, terminal, wording
from pulseboard.core.errors import PulseboardError
from pulseboard.read import export


class NoOutput(PulseboardError):
    """The export has no place to go to."""


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_choice(parser)
    parser.add_argument("-f", "--format", choices=export.FORMATS, help="default: by the name of --output, else csv")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write; default: standard output")
    parser.add_argument("--orphans", action="store_true", help="also points that a restart took the place of")


def run(args: argparse.Namespace) -> None:
    form = args.format or ("json" if args.json and not args.output else _form_of(args.output))
    log = options.load_any(args)
    # What other ranks logged for themselves goes by their own names, such as exp/ranks/1.
    runs = [rank for run in options.chosen_runs(log, args) for rank in run.ranks.values()]
    picked = [(run, options.chosen_tags(run.tags("scalar"), args)) for run in runs]
    if not args.output or args.output == "-":
        if form == "parquet" and sys.stdout.isatty():
            raise NoOutput("Parquet is binary and this is a terminal: name a file with -o FILE.")
        export.write(picked, sys.stdout.buffer, form=form, orphans=args.orphans)
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
    else:
        size = wording.size(os.path.getsize(args.output))
        print(f"{wording.plural(points, 'point')} of {wording.plural(len(runs), 'run')} to {args.output}, {size}")


def _form_of(output: str | None) -> str:
    suffix = os.path.splitext(output or "")[1].lstrip(".").lower()
    return suffix if suffix in export.FORMATS else "csv"


def _write_whole(output: str, picked: export.Picked, form: str, args: argparse.Namespace) -> int:
    """Write beside the target and rename, so that a cut export leaves no half a file under its name."""
    try:
        handle, part = tempfile.mkstemp(prefix=".pulseboard-", dir=os.path.dirname(os.path.abspath(output)))
    except OSError as error:
        raise NoOutput(f"Cannot write there: {error.strerror}. Name another file: {output}") from error
    try:
        with os.fdopen(handle, "wb") as stream, terminal.loading("Writing") as progress:
            points = export.write(picked, stream, form=form, orphans=args.orphans, progress=progress)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(part, 0o666 & ~umask)
        os.replace(part, output)
    except BaseException as error:
        os.unlink(part)
        if isinstance(error, OSError):
            raise NoOutput(f"The export was not finished: {error.strerror}. Nothing was written to {output}") from error
        raise
    return points
