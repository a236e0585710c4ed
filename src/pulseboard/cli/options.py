"""Options that commands share: paths, --run, --tag, --json and --brief, and loading what they select."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pulseboard.cli import wording
from pulseboard.cli.terminal import loading
from pulseboard.core.errors import LogNotFound, PulseboardError, RunNotFound
from pulseboard.core.json_numbers import encode_numbers
from pulseboard.core.locations import location_of
from pulseboard.core.note import Note
from pulseboard.database.url import database_among
from pulseboard.read.run import Run
from pulseboard.read.runs import Runs, read

if TYPE_CHECKING:
    from pulseboard.diagnose.cases import Training

OneRun = TypeVar("OneRun", bound=Run)


class BadPattern(PulseboardError):
    """The user gave an invalid regular expression."""

    def __init__(self, pattern: str, error: re.error) -> None:
        super().__init__(f"Invalid regular expression {pattern!r}: {error}. Escape special characters with \\")


def add_paths(parser: argparse.ArgumentParser) -> None:
    """Add PATH…, --json and --brief."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="log directory, log file, URL, pattern, or name:path")
    add_forms(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="print requests and bytes of remote directories")


def add_forms(parser: argparse.ArgumentParser) -> None:
    """Add --json and --brief."""
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print JSON, for programs")
    forms.add_argument("--brief", action="store_true", help="print one line per thing, for scripts and agents")


def add_choice(parser: argparse.ArgumentParser, *, tags: bool = True) -> None:
    """Add --run and --tag."""
    parser.add_argument(
        "-r",
        "--run",
        dest="runs",
        action="append",
        metavar="NAME",
        help="only this run, by name or regular expression; repeatable",
    )
    if tags:
        parser.add_argument("-t", "--tag", metavar="REGEX", help="only tags that match this regular expression")


def load(args: argparse.Namespace, *, files: bool = False) -> Runs:
    """Read every run at the given paths, with a progress bar if it takes long. `files`: not from a database."""
    if (database := database_among(args.paths)) is not None:
        if files:
            raise LogNotFound(database, why="a database holds no log files")
        from pulseboard.database.stored.runs import StoredRuns

        stored = StoredRuns.open(database, media=getattr(args, "media", ()))
        stored.refresh()
        return stored
    with loading("Reading logs") as progress:
        runs = read(*args.paths, progress=progress)
    if args.verbose:
        print_traffic(runs)
    return runs


def print_traffic(runs: Runs) -> None:
    """Print to stderr how many requests and bytes each remote directory took."""
    for url, traffic in runs.traffic().items():
        requests = wording.plural(traffic.requests, "request")
        listings = wording.plural(traffic.listings, "listing")
        line = f"{requests}, {listings}, {wording.size(traffic.bytes_read)} read from {url}"
        print(line, file=sys.stderr, flush=True)


def note_records(notes: Iterable[Note]) -> list[dict[str, Any]]:
    """Notes as JSON."""
    return [{"level": n.level, "what": n.what, "path": location_of(n.path), "byte": n.byte} for n in notes]


def chosen_runs(log: Mapping[str, OneRun], args: argparse.Namespace) -> list[OneRun]:
    """The runs selected by --run, or all of them, in the order of the mapping."""
    if not args.runs:
        return list(log.values())
    names: set[str] = set()
    for wanted in args.runs:
        if wanted in log:
            names.add(log[wanted].name)
            continue
        pattern = compiled(wanted)
        found = {run.name for run in log.values() if any(pattern.search(n) for n in (run.name, *run.aliases))}
        if not found:
            raise RunNotFound(wanted, known=log)
        names |= found
    return [run for run in log.values() if run.name in names]


def chosen_tags(tags: Iterable[str], args: argparse.Namespace) -> list[str]:
    """The tags selected by --tag."""
    if not args.tag:
        return list(tags)
    pattern = compiled(args.tag)
    return [tag for tag in tags if pattern.search(tag)]


def two_trainings(log: Runs, args: argparse.Namespace) -> list[Training]:
    """The two trainings that the paths and --run select, in the order of the arguments."""
    from pulseboard.agents.subjects import trainings_of

    names = list(dict.fromkeys(run.name for wanted in args.runs or [] for run in chosen_runs(log, _only(wanted))))
    found = list(trainings_of(log, names or None))
    if len(found) != 2:
        listed = ", ".join(one.name for one in found[:5]) + (", …" if len(found) > 5 else "")
        raise PulseboardError(
            f"Comparing takes two runs, but {len(found)} are selected{f' ({listed})' if listed else ''}. "
            "Give two paths, or a log directory with -r A -r B."
        )
    if names:
        return sorted(found, key=lambda one: min(names.index(r.name) for _, r in one.parts if r.name in names))
    # The paths give the order; runs are listed most recently active first.
    places = [directory.path for directory in log.log_directories]
    return sorted(found, key=lambda one: _place_of(one.parts[0][1].path, places))


def _only(wanted: str) -> argparse.Namespace:
    return argparse.Namespace(runs=[wanted])


def _place_of(path: str, places: list[str]) -> int:
    """Which of several log directories a path is in: the deepest that contains it."""
    inside = [(len(place), i) for i, place in enumerate(places) if f"{path}{os.sep}".startswith(f"{place}{os.sep}")]
    return max(inside, default=(0, 0))[1]


def whole_number(text: str) -> int:
    """Parse a number of rows."""
    if not text.isascii() or not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def seconds(text: str) -> float:
    """Parse a duration in seconds."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return value


def share(text: str) -> float:
    """Parse a share, such as 0.05 for 5 %."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a share; write 0.05 for 5 %")
    return value


def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a regular expression from the user."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise BadPattern(pattern, error) from None


def print_json(value: Any) -> None:
    """Print indented JSON. NaN and infinities become the strings 'nan', 'inf' and '-inf'."""
    everything = (sys.stdout.encoding or "").lower() in ("utf-8", "utf8")
    json.dump(encode_numbers(value), sys.stdout, indent=2, ensure_ascii=not everything)
    sys.stdout.write("\n")
