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

import pulseboard
from pulseboard.cli import commands
from pulseboard.core.errors import PulseboardError

DESCRIPTION = """\
Pulseboard watches machine-learning training runs and says what is wrong with them.

PATH is a log directory, an event file, or name:path to put a directory's runs below a name.
Every directory that holds a TensorBoard event file is a run."""

EPILOG = """\
examples:
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
    parser = _parser()
    args = parser.parse_args(argv)
    if args.command is None:
        parser.print_help()
        return 0
    try:
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
        module = importlib.import_module(f"{commands.__name__}.{found.name}")
        command = subparsers.add_parser(
            found.name,
            help=(module.__doc__ or "").splitlines()[0].rstrip("."),
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.configure(command)
        command.set_defaults(execute=module.run)
    return parser
