"""Options that commands share: paths, --run, --tag and --json, and loading what they select."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pulseboard.cli import wording
from pulseboard.cli.terminal import loading
from pulseboard.core.errors import PulseboardError, RunNotFound
from pulseboard.core.json_numbers import encode_numbers
from pulseboard.core.locations import location_of
from pulseboard.core.note import Note
from pulseboard.read.run import Run
from pulseboard.read.runs import Runs, read

OneRun = TypeVar("OneRun", bound=Run)


class BadPattern(PulseboardError):
    """The user gave an invalid regular expression."""

    def __init__(self, pattern: str, error: re.error) -> None:
        super().__init__(f"Invalid regular expression {pattern!r}: {error}. Escape special characters with \\")


def add_paths(parser: argparse.ArgumentParser) -> None:
    """Add PATH… and --json."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="log directory, log file, URL, pattern, or name:path")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    parser.add_argument("-v", "--verbose", action="store_true", help="print requests and bytes of remote directories")


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


def load(args: argparse.Namespace) -> Runs:
    """Read every run at the given paths, with a progress bar if it takes long."""
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
