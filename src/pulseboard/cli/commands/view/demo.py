"""Train four small models live and diagnose the three that are broken.

They train side by side for about a minute, in plain NumPy: one is healthy, one diverges, one overfits and one
collapses. The dashboard shows them live, and findings are printed here as they appear. The dashboard keeps running
until Ctrl-C.

  pulseboard demo                      train for a minute, then keep the dashboard open
  pulseboard demo --seconds 30         exit after 30 seconds, for CI
  pulseboard demo --dir /tmp/demo      put the runs there; the next demo replaces them
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
from pulseboard.cli.commands.view.serve import port_number

if TYPE_CHECKING:
    from pulseboard.core.finding import RunReport
    from pulseboard.demo.processes import Training
    from pulseboard.serve.background import BackgroundServer

_TRAINING_SECS = 60.0
# The rest of the time is for starting, stopping, and busy machines.
_TRAINING_FRAC = 0.75
_CHECK_SECS = 1.5


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dir", type=Path, default=Path("runs-demo"), help="where to put the runs (runs-demo)")
    parser.add_argument("--seconds", type=_seconds, metavar="N", help="exit after N seconds, with a summary")
    parser.add_argument("--port", type=port_number, help="default: 6006 or the next free port; 0: any free port")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    parser.add_argument("--seed", type=int, default=0, help="random seed (0)")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 5 <= seconds <= 86400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 5 to 86400")
    return seconds


def run(args: argparse.Namespace) -> int:
    from pulseboard.demo.processes import side_by_side
    from pulseboard.serve.background import serve

    began = time.monotonic()
    ends = began + args.seconds if args.seconds else None
    secs = min(_TRAINING_SECS, _TRAINING_FRAC * args.seconds) if args.seconds else _TRAINING_SECS
    failures: list[str] = []
    try:
        with (
            _sigterm_as_interrupt(),
            side_by_side(directory=args.dir, secs=secs, seed=args.seed) as trainings,
            serve(args.dir, port=args.port, title="Pulseboard demo") as board,
        ):
            _introduce(board, trainings, args)
            reports = _watch(trainings, args.dir, began=began, ends=ends)
            failures = [f"{one.name} failed: {one.trouble}" for one in trainings if one.trouble]
            print()
            findings.print_summary(reports)
            print(f"\nFull report: pulseboard diagnose {args.dir}", flush=True)
            if ends is None:
                print(f"The dashboard is still at {board.url}  (Ctrl-C to stop)", flush=True)
                board.wait()
                print(file=sys.stderr)  # after the ^C that the terminal prints
            else:
                time.sleep(max(0.0, ends - time.monotonic()))
    except KeyboardInterrupt:
        print(file=sys.stderr)
    for failure in failures:
        print(f"pulseboard: {failure}", file=sys.stderr)
    print(f"Stopped. The runs are in {args.dir}", file=sys.stderr)
    return 1 if failures else 0


def _introduce(board: BackgroundServer, trainings: Sequence[Training], args: argparse.Namespace) -> None:
    from pulseboard.demo.trainings import training
    from pulseboard.diagnose.report.text import Piece
    from pulseboard.serve.http.page import PAGE_DIRECTORY
    from pulseboard.serve.http.sockets import ssh_tunnel_command
    from pulseboard.serve.settings import ServerSettings

    far = ssh_tunnel_command(ServerSettings(), board.port)
    findings.print_line((Piece("Pulseboard is at "), Piece(board.url, "strong"), Piece("  (Ctrl-C to stop)")))
    if far:
        print(f"From your own machine:  {far}")
    if not (PAGE_DIRECTORY / "index.html").is_file():
        print("The page is not built; build it with `make page`. The HTTP API works without it.")
    print("\nTraining side by side:")
    width = max(len(one.name) for one in trainings)
    for one in trainings:
        print(f"  {one.name:{width}}  {training(one.name).__doc__}")
    print("\nFindings:", flush=True)
    if not args.no_browser and sys.stdout.isatty() and not far:
        _open(board.url)


def _open(url: str) -> None:
    """Open the page if there is a screen. In a text-only session a browser would take over the terminal."""
    import os
    import webbrowser

    if sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(url)


def _watch(trainings: Sequence[Training], directory: Path, *, began: float, ends: float | None) -> Sequence[RunReport]:
    """Print findings as they appear until the trainings finish or time is up. Return the final reports."""
    from pulseboard.diagnose.diagnosis import diagnose
    from pulseboard.read.runs import read

    log, news = read(directory), findings.NewFindings()
    while True:
        over = not any(one.running for one in trainings) or (ends is not None and time.monotonic() > ends - _CHECK_SECS)
        log.refresh()
        reports = diagnose(log, watching=not over)
        for report in reports:
            for finding in news.take(report):
                # Info findings are on the dashboard; here they would hide the rest.
                if finding.severity != "info":
                    findings.print_finding(report.run, finding, when=f"{time.monotonic() - began:4.0f} s  ")
        if over:
            return reports
        time.sleep(_CHECK_SECS)


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, so that no training is left running."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
