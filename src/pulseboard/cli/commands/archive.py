"""Move finished runs to an archive directory, compressed; they still open from there.

Nothing is touched without --yes: the plan is printed. Each file is compressed (plain gzip), read back and
compared byte for byte before the original goes. Files that are not part of the log, such as checkpoints,
stay where they are. Runs that changed in the last ten minutes are left out (see --min-age).

  pulseboard archive runs/2025-* --to /archive          what would happen
  pulseboard archive runs/2025-* --to /archive --yes    do it
  pulseboard ls /archive                                archived runs open like any other
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import asdict, dataclass

from pulseboard.cli import options, terminal, wording
from pulseboard.files import archive, layout
from pulseboard.read.log import Log
from pulseboard.read.run import Run


@dataclass(frozen=True, slots=True)
class _Move:
    run: str
    source: str
    target: str
    size: int


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_choice(parser, tags=False)
    parser.add_argument("--to", required=True, metavar="DIR", help="the archive directory; made if need be")
    parser.add_argument("--yes", action="store_true", help="do it; without this the plan is only printed")
    parser.add_argument(
        "--min-age",
        type=float,
        default=600,
        metavar="SECS",
        help="leave out runs that changed within SECS (600)",
    )


def run(args: argparse.Namespace) -> int:
    log = options.load(args)
    moves: list[_Move] = []
    live: list[str] = []
    for run in options.chosen_runs(log, args):
        changed = max((file.seen.mtime_ns / 1e9 for file in run.files if file.seen), default=0.0)
        if time.time() - changed < args.min_age:
            live.append(run.name)
        else:
            moves += _moves_of(log, run, os.path.abspath(args.to))
    done: list[archive.Archived] = []
    failed: list[str] = []
    if args.yes:
        with terminal.loading("Archiving") as progress:
            for i, move in enumerate(moves):
                try:
                    done.append(archive.archive_file(move.source, move.target))
                    _remove_if_empty(os.path.dirname(move.source))
                except archive.NotArchived as error:
                    failed.append(str(error))
                if progress is not None:
                    progress(i + 1, len(moves))
    if args.json:
        options.print_json(
            {
                "schema": 1,
                "dry_run": not args.yes,
                "planned": [asdict(move) for move in moves],
                "archived": [asdict(one) for one in done],
                "left_out": [{"run": name, "because": "changed recently"} for name in live],
                "failed": failed,
            }
        )
    else:
        _print(args, moves, done, live)
        for line in failed:
            print(f"pulseboard: {line}", file=sys.stderr)
    return 1 if failed else 0


def _moves_of(log: Log, run: Run, to: str) -> list[_Move]:
    """Where each file of a run goes: its path from the parent of the log directory on, below the archive."""
    top = next(r.path for r in log.roots if run.directory == r.path or run.directory.startswith(r.path + os.sep))
    paths = [file.path for file in run.files]
    recorded = run.directory.removesuffix(os.sep + layout.EVENTS_DIRECTORY)
    paths += [path for name in layout.SIDE_FILES if os.path.isfile(path := os.path.join(recorded, name))]
    moves = []
    for path in paths:
        relative = os.path.relpath(path, os.path.dirname(top))
        folder, name = os.path.split(os.path.join(to, relative))
        target = os.path.join(folder, archive.target_name(name))
        moves.append(_Move(run.name, path, target, os.path.getsize(path)))
    return moves


def _remove_if_empty(directory: str) -> None:
    try:
        os.removedirs(directory)  # and the directories above it that this leaves empty
    except OSError:
        pass


def _print(args: argparse.Namespace, moves: list[_Move], done: list[archive.Archived], live: list[str]) -> None:
    console = terminal.console()
    runs = list(dict.fromkeys(move.run for move in moves))
    if not moves:
        console.print("Nothing to archive.")
    elif args.yes:
        before, after = sum(one.size_before for one in done), sum(one.size_after for one in done)
        files = wording.plural(len(done), "file")
        console.print(f"Archived {files} to {args.to}: {wording.size(before)} became {wording.size(after)}.")
    else:
        table = terminal.table("run", "files", "size", right=("files", "size"), fold=("run",))
        for name in runs:
            of = [move for move in moves if move.run == name]
            table.add_row(name, wording.count(len(of)), wording.size(sum(move.size for move in of)))
        console.print(table)
        total = wording.size(sum(move.size for move in moves))
        console.print(f"Would archive {wording.plural(len(runs), 'run')}, {total}, to {args.to}. Add --yes to do it.")
    if live:
        console.print(f"Left out, changed in the last {args.min_age:g} s: {', '.join(live)}", style="yellow")
