"""The `pulseboard` command: finds the subcommands in `commands/` and turns errors into messages."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from collections.abc import Sequence

import pulseboard
from pulseboard.cli import advice, terminal
from pulseboard.cli.commands import command, module_names
from pulseboard.core.errors import LogNotFound, PulseboardError
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
  pulseboard compare runs/a runs/b           values, settings and problems of two runs
  pulseboard tail runs/baseline -f           values as they are logged
  pulseboard gate runs/new --against runs/ok is a run as good as earlier ones? For CI
  pulseboard wait runs/new --until finding   return when something happens
  pulseboard run -- python train.py          record a training without a line of code
  pulseboard export runs/ -o all.csv         every point of every run in one file
  pulseboard du runs/                        disk space by run and kind of data

Run `pulseboard COMMAND --help` for details. Commands that read and end take --json and --brief."""


class NoSuchCommand(PulseboardError):
    """The first argument is neither a command nor a path."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 2 if the input could not be read."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Escape characters the terminal cannot show: an odd run name must not crash the command.
            stream.reconfigure(errors="backslashreplace")
    given = list(sys.argv[1:] if argv is None else argv)
    try:
        if _is_dashboard_call(given):
            return int(command("serve").run(command("serve").arguments(given)) or 0)
        if not given:
            return _without_arguments()
        _check_first_word(given[0])
        parser = _parser(given[0])
        args = parser.parse_args(given)
        return int(args.execute(args) or 0)
    except PulseboardError as error:
        terminal.print_error(str(error))
        if isinstance(error, LogNotFound) and (hint := advice.on_missing(error.path)):
            print(hint, file=sys.stderr)
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
    if given[0] in module_names():
        return False
    path = layout.split_named_path(given[0])[1]
    # A path that does not exist may be a pattern or be created later, but a plain word is a misspelled command.
    return given[0].startswith("--") or os.path.exists(path) or os.sep in path or "*" in path


def _without_arguments() -> int:
    """Serve the logs below the working directory; without any, offer the demo or print the help."""
    from pulseboard.cli.nearby_logs import find_logs

    serve = command("serve")
    found = find_logs(".")
    if found or serve.has_project_settings():
        names = [os.path.relpath(path) for path in found]
        if names:
            print(f"Found logs in {', '.join(names[:5])}{', …' if len(names) > 5 else ''}", file=sys.stderr, flush=True)
        return int(serve.run(serve.arguments(names if len(names) <= 1 else ["."])) or 0)
    if sys.stdin.isatty() and sys.stdout.isatty():
        print(f"No logs found below {os.getcwd()}", file=sys.stderr)
        if input("Train four small models now, to see what Pulseboard does? [Y/n] ").strip().lower() in (
            "",
            "y",
            "yes",
        ):
            demo = command("demo")
            parser = argparse.ArgumentParser(prog="pulseboard demo")
            demo.configure(parser)
            return int(demo.run(parser.parse_args([])))
    full_parser().print_help()
    return 0


def _check_first_word(word: str) -> None:
    """Raise an error with advice if the first argument is neither a command nor an option."""
    if word.startswith("-") or word in module_names():
        return
    import difflib

    close = difflib.get_close_matches(word, module_names(), n=3, cutoff=0.5)
    commands_ = f" The nearest commands: {', '.join(close)}." if close else ""
    nearby = advice.on_missing(word)
    raise NoSuchCommand(
        f"There is no command and no directory called {word!r}.{f' {nearby}' if nearby else ''}{commands_} "
        "All commands: pulseboard --help"
    )


def full_parser() -> argparse.ArgumentParser:
    """The parser of all commands, for completion scripts and the documentation."""
    return _parser(None)


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
    for name in [named] if named in module_names() else module_names():
        module = command(name)
        added = subparsers.add_parser(
            name,
            help=(module.__doc__ or "").splitlines()[0].rstrip("."),
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.configure(added)
        added.set_defaults(execute=module.run)
    return parser
