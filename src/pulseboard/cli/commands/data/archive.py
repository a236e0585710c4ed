"""Move finished runs to an archive directory, compressed and still readable.

Without --yes it only prints the plan. Each file is compressed (plain gzip), read back and compared byte by byte
before the original is removed. Files that are not part of the log, such as checkpoints, stay where they are. Runs
that changed in the last ten minutes are skipped (see --min-age).

  pulseboard archive runs/2025-* --to /archive          show what would be moved
  pulseboard archive runs/2025-* --to /archive --yes    move it
  pulseboard ls /archive                                archived runs open like any other
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from pulseboard.cli import options, terminal, wording
from pulseboard.core.errors import PulseboardError
from pulseboard.core.locations import is_url
from pulseboard.read.event_files.event_file import EventFile
from pulseboard.read.event_files.run import EventFileRun
from pulseboard.read.runs import Runs
from pulseboard.rundir import archive, layout


@dataclass(frozen=True, slots=True)
class _Move:
    run: str
    source: str
    target: str
    size: int
    below: str  # empty directories below this one are removed


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_choice(parser, tags=False)
    parser.add_argument("--to", required=True, metavar="DIR", help="the archive directory; created if needed")
    parser.add_argument("--yes", action="store_true", help="move the files; without this, only print the plan")
    parser.add_argument(
        "--min-age",
        type=float,
        default=600,
        metavar="SECS",
        help="skip runs that changed within the last SECS seconds (600)",
    )


def run(args: argparse.Namespace) -> int:
    if remote := [path for path in args.paths if is_url(layout.split_named_path(path)[1])]:
        raise PulseboardError(f"Only local runs can be archived. Give a directory of this machine, not {remote[0]}")
    log = options.load(args)
    logs = [run.main for run in options.chosen_runs(log, args)]
    runs = [run for run in logs if isinstance(run, EventFileRun)]
    moves, live = _plan(log, runs, to=os.path.abspath(args.to), min_age_secs=args.min_age)
    done: list[archive.Archived] = []
    failed: list[str] = []
    if args.yes:
        with terminal.loading("Archiving") as progress:
            for i, move in enumerate(moves):
                try:
                    done.append(archive.archive_file(move.source, move.target))
                    _remove_empty(os.path.dirname(move.source), below=move.below)
                except archive.NotArchived as error:
                    failed.append(str(error))
                if progress is not None:
                    progress(i + 1, len(moves))
    if args.json:
        options.print_json(
            {
                "schema": 1,
                "dry_run": not args.yes,
                "planned": [
                    {"run": move.run, "source": move.source, "target": move.target, "size": move.size} for move in moves
                ],
                "archived": [asdict(one) for one in done],
                "left_out": [{"run": name, "because": "changed recently"} for name in live],
                "failed": failed,
            }
        )
    elif args.brief:
        terminal.print_rows((move.run, move.source, move.target, move.size) for move in moves)
    else:
        _print(args, moves, done, live)
    if not args.json:
        for line in failed:
            print(f"pulseboard: {line}", file=sys.stderr)
    return 1 if failed else 0


def _plan(log: Runs, runs: list[EventFileRun], *, to: str, min_age_secs: float) -> tuple[list[_Move], list[str]]:
    """The files to move, and the runs that are skipped because they still change."""
    moves: dict[str, _Move] = {}  # by real path, whatever links lead to it
    live: list[str] = []
    # A run comes before links to it, so it is archived once, under its own name.
    for run in sorted(runs, key=lambda run: os.path.realpath(run.directory) != run.directory):
        files = [file for rank in run.ranks.values() for file in rank.files]
        changed = max((file.seen.mtime_ns / 1e9 for file in files if file.seen), default=0.0)
        if time.time() - changed < min_age_secs:
            live.append(run.name)
            continue
        for move in _moves_of(log, run, to):
            if move.source != move.target:
                moves.setdefault(os.path.realpath(move.source), move)
    return list(moves.values()), live


def _moves_of(log: Runs, run: EventFileRun, to: str) -> Iterator[_Move]:
    """Where each file of a run goes: the same path below the archive as below the log directory."""
    root = next(root for root in log.log_directories if _holds(root.path, run))
    recorded = layout.recorded_directory(run.directory)
    if os.path.isfile(root.path):
        top, below, paths = os.path.dirname(root.path), os.path.dirname(root.path), [root.path]
    else:
        # Keep the given directory, unless it is the run itself.
        top, below = root.path, os.path.dirname(root.path) if recorded == root.path else root.path
        paths = [_path_of(file, rank) for rank in run.ranks.values() for file in rank.files]
        paths += [path for name in layout.SIDE_FILES if os.path.isfile(path := os.path.join(recorded, name))]
    for path in paths:
        folder, name = os.path.split(path)
        if not folder.startswith(os.path.join(to, "")):  # files already in the archive stay where they are
            folder = os.path.join(to, root.name or os.path.basename(top), os.path.relpath(folder, top))
        target = os.path.join(os.path.normpath(folder), archive.target_name(name))
        yield _Move(run.name, path, target, os.path.getsize(path), below)


def _holds(path: str, run: EventFileRun) -> bool:
    inside = run.directory == path or run.directory.startswith(os.path.join(path, ""))
    return inside or any(file.path == path for file in run.files)


def _path_of(file: EventFile, run: EventFileRun) -> str:
    """The file's path in the run's own directory. A file reached by two links may be listed under the other one."""
    own = os.path.join(run.directory, os.path.basename(file.path))
    return own if os.path.exists(own) else file.path


def _remove_empty(directory: str, *, below: str) -> None:
    while directory.startswith(os.path.join(below, "")):
        try:
            os.rmdir(directory)
        except OSError:
            return
        directory = os.path.dirname(directory)


def _print(args: argparse.Namespace, moves: list[_Move], done: list[archive.Archived], live: list[str]) -> None:
    console = terminal.console()
    runs = list(dict.fromkeys(move.run for move in moves))
    if not moves:
        console.print("Nothing to archive.")
    elif args.yes:
        before, after = sum(one.size_before for one in done), sum(one.size_after for one in done)
        files = wording.plural(len(done), "file")
        console.print(f"Archived {files} to {args.to}: {wording.size(before)} compressed to {wording.size(after)}.")
    else:
        table = terminal.table("run", "files", "size", right=("files", "size"), fold=("run",))
        for name in runs:
            of = [move for move in moves if move.run == name]
            table.add_row(name, wording.count(len(of)), wording.size(sum(move.size for move in of)))
        terminal.print_table(table)
        total = wording.size(sum(move.size for move in moves))
        console.print(f"Would archive {wording.plural(len(runs), 'run')}, {total}, to {args.to}. Add --yes to do it.")
    if live:
        console.print(f"Skipped, changed in the last {args.min_age:g} s: {', '.join(live)}", style="yellow")
