"""The `pulseboard` command: its sub-commands, found in `commands/`, and what happens on errors."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import pkgutil
import signal
import sys
from collections.abc import Sequence
from typing import Any

import pulseboard
from pulseboard.cli import commands
from pulseboard.core.errors import PulseboardError
from pulseboard.files import layout

DESCRIPTION = """\
Pulseboard watches machine-learning training runs and says what is wrong with them.

PATH is a log directory, an event file, or name:path to put a directory's runs below a name.
Every directory that holds a TensorBoard event file is a run."""

EPILOG = """\
examples:
  pulseboard demo                            four small trainings, live, and what is wrong with three of them
  pulseboard runs/                           the dashboard; TensorBoard's flags work
  pulseboard ls runs/                        every run, the most recently active first
  pulseboard show runs/ -r baseline          one run's tags with a sparkline each
  pulseboard show runs/ -t loss --chart      a chart of each tag that matches
  pulseboard export runs/ -o all.csv         every point of every run in one table
  pulseboard du runs/                        where the disk space goes

`pulseboard COMMAND --help` tells more. Every command takes --json."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. The exit code is 0, or 2 where the input could not be read."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # What a terminal cannot show, it gets escaped; a run's name must not end the command.
            stream.reconfigure(errors="backslashreplace")
    given = list(sys.argv[1:] if argv is None else argv)
    try:
        if _asks_for_the_dashboard(given):
            # By itself, without the other commands: it is the one that people wait for.
            return int(_command("serve").run(_command("serve").arguments(given)) or 0)
        parser = _parser()
        args = parser.parse_args(given)
        if args.command is None:
            parser.print_help()
            return 0
        return int(args.execute(args) or 0)
    except PulseboardError as error:
        print(f"pulseboard: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a file that went or was cut since it was read
        print(f"pulseboard: {error.strerror or error}. {error.filename or ''}".rstrip(), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 128 + signal.SIGINT


def _asks_for_the_dashboard(given: list[str]) -> bool:
    """Whether the arguments are a log directory or a flag, and not the name of a command (`./ls` is a directory)."""
    if not given or given[0] in ("-h", "--help", "--version"):
        return False
    if any(found.name == given[0] for found in pkgutil.iter_modules(commands.__path__)):
        return False
    return given[0].startswith("--") or os.path.exists(layout.split_root(given[0])[1])


def _command(name: str) -> Any:
    return importlib.import_module(f"{commands.__name__}.{name}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pulseboard",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"pulseboard {pulseboard.__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for found in pkgutil.iter_modules(commands.__path__):
        module = _command(found.name)
        command = subparsers.add_parser(
            found.name,
            help=(module.__doc__ or "").splitlines()[0].rstrip("."),
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.configure(command)
        command.set_defaults(execute=module.run)
    return parser
