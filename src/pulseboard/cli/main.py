"""The `pulseboard` command: finds the subcommands in `commands/` and turns errors into messages."""

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
from pulseboard.cli import commands, terminal
from pulseboard.core.errors import PulseboardError
from pulseboard.rundir import layout

DESCRIPTION = """\
Pulseboard watches machine-learning training runs and says what is wrong with them.

PATH is a log directory, a log file, a URL (s3://, gs://, az://, ssh://), or name:path to prefix the runs of a
directory with a name.
Every directory that contains a TensorBoard event file is a run; other log formats work too."""

EPILOG = """\
examples:
  pulseboard demo                            train four small models live and diagnose the three that are broken
  pulseboard runs/                           open the dashboard; TensorBoard's flags work
  pulseboard diagnose runs/                  what is wrong with each run, and what to do about it
  pulseboard ls runs/                        list runs, most recently active first
  pulseboard show runs/ -r baseline          the tags of one run, each with a sparkline
  pulseboard show runs/ -t loss --chart      a chart of every matching tag
  pulseboard export runs/ -o all.csv         every point of every run in one file
  pulseboard du runs/                        disk space by run and kind of data

Run `pulseboard COMMAND --help` for details. All commands but serve and demo take --json."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 2 if the input could not be read."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Escape characters the terminal cannot show: an odd run name must not crash the command.
            stream.reconfigure(errors="backslashreplace")
    given = list(sys.argv[1:] if argv is None else argv)
    try:
        if _is_dashboard_call(given):
            return int(_command("serve").run(_command("serve").arguments(given)) or 0)
        parser = _parser(given[0] if given else None)
        args = parser.parse_args(given)
        if args.command is None:
            parser.print_help()
            return 0
        return int(args.execute(args) or 0)
    except PulseboardError as error:
        terminal.print_error(str(error))
        return 2
    except BrokenPipeError:  # `| head` has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a file was removed or truncated after it was read
        terminal.print_error(f"{error.strerror or error}. {error.filename or ''}")
        return 2
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 128 + signal.SIGINT


def _is_dashboard_call(given: list[str]) -> bool:
    """Whether the first argument is a log directory or a flag rather than a command. (`./ls` is a directory.)"""
    if not given or given[0] in ("-h", "--help", "--version"):
        return False
    if given[0] in _names():
        return False
    path = layout.split_named_path(given[0])[1]
    # A path that does not exist may be a pattern or be created later, but a plain word is a misspelled command.
    return given[0].startswith("--") or os.path.exists(path) or os.sep in path or "*" in path


def _command(name: str) -> Any:
    return importlib.import_module(f"{commands.__name__}.{name}")


def _names() -> list[str]:
    return [found.name for found in pkgutil.iter_modules(commands.__path__)]


def _parser(named: str | None) -> argparse.ArgumentParser:
    """A parser of the named command, or of all commands if it is not one of them."""
    parser = argparse.ArgumentParser(
        prog="pulseboard",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"pulseboard {pulseboard.__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    # Importing all of them takes longer than most of them take to run.
    for name in [named] if named in _names() else _names():
        module = _command(name)
        command = subparsers.add_parser(
            name,
            help=(module.__doc__ or "").splitlines()[0].rstrip("."),
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.configure(command)
        command.set_defaults(execute=module.run)
    return parser
