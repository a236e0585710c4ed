"""Train four small models, one healthy and three broken, and watch them live.

They train side by side for about a minute, in NumPy alone: one learns as it should, one diverges, one overfits and
one collapses. The dashboard shows them as they go, and findings are printed here as they appear. Then the dashboard
stays until Ctrl-C.

  pulseboard demo                      a minute of training, and the dashboard of it
  pulseboard demo --seconds 30         shorter, and over after 30 seconds: for CI
  pulseboard demo --dir /tmp/demo      keep the runs there; the next demo replaces them
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pulseboard.cli import findings
from pulseboard.cli.commands.serve import port_number

if TYPE_CHECKING:
    from pulseboard.core.finding import RunReport
    from pulseboard.demo.processes import Training
    from pulseboard.serve.background import Background

_TRAINING_SECS = 60.0
# What is left of a set time for start and end, and for machines that are busy.
_TRAINING_SHARE = 0.75
_LOOK_SECS = 1.5


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dir", type=Path, default=Path("runs-demo"), help="where the runs are made (runs-demo)")
    parser.add_argument("--seconds", type=_seconds, metavar="N", help="end by itself after so long, with a summary")
    parser.add_argument("--port", type=port_number, help="default: 6006 or the next that is free; 0: any that is free")
    parser.add_argument("--no-browser", action="store_true", help="open no browser")
    parser.add_argument("--seed", type=int, default=0, help="of all that is drawn at random (0)")


def _seconds(said: str) -> float:
    try:
        seconds = float(said)
    except ValueError:
        seconds = 0.0
    if not 5 <= seconds <= 86400:
        raise argparse.ArgumentTypeError(f"{said!r} is too short or no number; use 5 to 86400")
    return seconds


def run(args: argparse.Namespace) -> int:
    from pulseboard.demo.processes import side_by_side
    from pulseboard.serve.background import serve

    began = time.monotonic()
    ends = began + args.seconds if args.seconds else None
    secs = min(_TRAINING_SECS, _TRAINING_SHARE * args.seconds) if args.seconds else _TRAINING_SECS
    troubles: list[str] = []
    try:
        with (
            _ended_as_interrupted(),
            side_by_side(directory=args.dir, secs=secs, seed=args.seed) as trainings,
            serve(args.dir, port=args.port, title="Pulseboard demo") as board,
        ):
            _introduce(board, trainings, args)
            reports = _watch(trainings, args.dir, began=began, ends=ends)
            troubles = [f"{one.name} failed: {one.trouble}" for one in trainings if one.trouble]
            print()
            findings.print_summary(reports)
            print(f"\nThe same at length: pulseboard diagnose {args.dir}", flush=True)
            if ends is None:
                print(f"The dashboard stays at {board.url}  (Ctrl-C ends it)", flush=True)
                board.wait()
                print(file=sys.stderr)  # below the terminal's own ^C
            else:
                time.sleep(max(0.0, ends - time.monotonic()))
    except KeyboardInterrupt:
        print(file=sys.stderr)
    for trouble in troubles:
        print(f"pulseboard: {trouble}", file=sys.stderr)
    print(f"Stopped. The runs are in {args.dir}", file=sys.stderr)
    return 1 if troubles else 0


def _introduce(board: Background, trainings: Sequence[Training], args: argparse.Namespace) -> None:
    from pulseboard.demo.trainings import training
    from pulseboard.diagnose.report.text import Piece
    from pulseboard.serve.listening import tunnel
    from pulseboard.serve.page import PAGE_DIRECTORY
    from pulseboard.serve.settings import Settings

    far = tunnel(Settings(), board.port)
    findings.print_line((Piece("Pulseboard is at "), Piece(board.url, "strong"), Piece("  (Ctrl-C ends it)")))
    if far:
        print(f"From your own machine:  {far}")
    if not (PAGE_DIRECTORY / "index.html").is_file():
        print("Its page is not built here: `make page` builds it. The interface answers all the same.")
    print("\nTraining side by side:")
    width = max(len(one.name) for one in trainings)
    for one in trainings:
        print(f"  {one.name:{width}}  {training(one.name).__doc__}")
    print("\nWhat is found, as it is found:", flush=True)
    if not args.no_browser and sys.stdout.isatty() and not far:
        _open(board.url)


def _open(url: str) -> None:
    """Show the page, where there is a screen: in a terminal alone, a browser would take its place."""
    import os
    import webbrowser

    if sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(url)


def _watch(trainings: Sequence[Training], directory: Path, *, began: float, ends: float | None) -> Sequence[RunReport]:
    """Print findings as they appear, until the trainings or the time have ended; then the reports on all runs."""
    from pulseboard.diagnose.diagnosis import diagnose
    from pulseboard.read.log import read

    log, news = read(directory), findings.News()
    while True:
        over = not any(one.running for one in trainings) or (ends is not None and time.monotonic() > ends - _LOOK_SECS)
        log.refresh()
        reports = diagnose(log, watching=not over)
        for report in reports:
            for finding in news.of(report):
                # What is merely worth knowing is on the dashboard, and would hide the rest here.
                if finding.severity != "info":
                    findings.print_finding(report.run, finding, when=f"{time.monotonic() - began:4.0f} s  ")
        if over:
            return reports
        time.sleep(_LOOK_SECS)


@contextmanager
def _ended_as_interrupted() -> Iterator[None]:
    """SIGTERM ends the demo as Ctrl-C does, so that no training stays behind."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
