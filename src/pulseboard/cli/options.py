"""What commands have in common: the paths, the choice of runs and tags, and loading them."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pulseboard.cli.terminal import loading
from pulseboard.core.errors import PulseboardError, RunNotFound
from pulseboard.read.every_run import AnyRun, EveryRun, any_runs
from pulseboard.read.log import Log, read

OneRun = TypeVar("OneRun", bound=AnyRun)


class BadPattern(PulseboardError):
    """A regular expression that is none."""

    def __init__(self, pattern: str, error: re.error) -> None:
        super().__init__(f"{pattern!r} is no regular expression: {error}. Escape special characters with \\")


def add_paths(parser: argparse.ArgumentParser) -> None:
    """PATH…, and --json."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="log directory, event file, or name:path")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def add_choice(parser: argparse.ArgumentParser, *, tags: bool = True) -> None:
    """--run and --tag."""
    parser.add_argument(
        "-r",
        "--run",
        dest="runs",
        action="append",
        metavar="NAME",
        help="only this run: its name, or a regular expression",
    )
    if tags:
        parser.add_argument("-t", "--tag", metavar="REGEX", help="only tags that match this regular expression")


def load(args: argparse.Namespace) -> Log:
    """The log at the paths given, with a progress bar where it takes long."""
    with loading() as progress:
        return read(*args.paths, progress=progress)


def load_any(args: argparse.Namespace) -> EveryRun:
    """Every run at the paths given, of event files and of other formats."""
    with loading("Reading logs") as progress:
        return any_runs(*args.paths, progress=progress)


def chosen_runs(log: Mapping[str, OneRun], args: argparse.Namespace) -> list[OneRun]:
    """The runs that --run names, all where it names none, in the log's order."""
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
    """The tags that --tag matches."""
    if not args.tag:
        return list(tags)
    pattern = compiled(args.tag)
    return [tag for tag in tags if pattern.search(tag)]


def compiled(pattern: str) -> re.Pattern[str]:
    """A regular expression of the user's."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise BadPattern(pattern, error) from None


def print_json(value: Any) -> None:
    """Indented, with NaN and infinities as the strings 'nan', 'inf' and '-inf': JSON has no such numbers."""
    everything = (sys.stdout.encoding or "").lower() in ("utf-8", "utf8")
    json.dump(plain(value), sys.stdout, indent=2, ensure_ascii=not everything)
    sys.stdout.write("\n")


def plain(value: Any) -> Any:
    """The value with what JSON has no numbers for as words."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return repr(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
