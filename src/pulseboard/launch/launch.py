"""Launching: starts a command, records it as a run, and returns how it ended."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulseboard.core.errors import PulseboardError
from pulseboard.launch import environment
from pulseboard.launch.host import sampling
from pulseboard.launch.output import KEPT_FILE, KeptOutput, PrintedMetrics, pump, reading_metrics
from pulseboard.launch.seen import environment_of
from pulseboard.record.active_run import ActiveRun
from pulseboard.record.run import init

_BOOTSTRAP = str(Path(__file__).parent / "bootstrap")
_READ_EVERY_SECS = 1.0
_TELEMETRY_SECS = 10.0


class CannotStart(PulseboardError):
    """The command does not exist, or may not be run."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a training ended."""

    directory: Path
    exit_code: int  # as a shell reports it: 128 plus the signal
    left_out_bytes: int  # of the output, beyond what is kept


def launch(
    command: Sequence[str],
    *,
    dir: str = "runs",
    run_tag: str | None = None,
    watch: bool = True,
    telemetry_secs: float = _TELEMETRY_SECS,
    loggers: Sequence[str] = (),
) -> Ended:
    """Run a command to its end and record it. Raises CannotStart.

    `loggers` are those of other packages (`seen.MODULES`) that the training gives its metrics to; with one, metrics
    come from there instead of from the output.
    """
    if shutil.which(command[0]) is None:
        raise CannotStart(f"Cannot start {command[0]!r}: there is no such program. Check the command after `--`.")
    run = init(
        dir=dir,
        run_tag=run_tag,
        report_to=["tensorboard", "json"],
        telemetry_secs=0,
        config={"command": " ".join(command)},
    )
    kept = KeptOutput(run.directory / KEPT_FILE)
    status = "failed"
    try:
        given = _environment(run.directory, watch, telemetry_secs) | environment_of(list(loggers) if watch else [])
        with _sampled(run, telemetry_secs):
            code = _supervise(command, given, run, kept, read_output=not loggers)
        status = "finished" if code == 0 else "killed" if code < 0 else "failed"
    except OSError as error:
        raise CannotStart(f"Cannot start {command[0]!r}: {error.strerror}.") from error
    finally:
        kept.close()
        (run.directory / environment.CLAIM_FILE).unlink(missing_ok=True)
        run.finish(status=status)
    _note_exit_code(run, code)
    return Ended(run.directory, code if code >= 0 else 128 - code, kept.left_out_bytes)


def _environment(directory: Path, watch: bool, telemetry_secs: float) -> dict[str, str]:
    given = dict(os.environ)
    # Lines arrive as they are printed. That changes when they are written, and nothing else.
    given["PYTHONUNBUFFERED"] = "1"
    if watch:
        given["PYTHONPATH"] = os.pathsep.join([_BOOTSTRAP, *filter(None, [given.get("PYTHONPATH")])])
        given[environment.RUN_DIRECTORY] = str(directory.resolve())
        given[environment.TELEMETRY_SECS] = str(telemetry_secs)
    return given


def _supervise(
    command: Sequence[str], given: dict[str, str], run: ActiveRun, kept: KeptOutput, *, read_output: bool
) -> int:
    process = subprocess.Popen(command, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    pumps = [
        threading.Thread(target=pump, args=(process.stdout, sys.stdout.buffer, kept), daemon=True),
        threading.Thread(target=pump, args=(process.stderr, sys.stderr.buffer, kept), daemon=True),
    ]
    metrics, stop = PrintedMetrics(kept.path), threading.Event()

    def log(step: int, values: dict[str, float]) -> None:
        if read_output:
            run.log(values, step=step)

    reader = threading.Thread(
        target=reading_metrics, args=(metrics, log), kwargs={"stop": stop, "every_secs": _READ_EVERY_SECS}, daemon=True
    )
    with process, _signals_passed_to(process):
        for thread in (*pumps, reader):
            thread.start()
        code = process.wait()
        for thread in pumps:
            # A process that the training left behind may hold the pipe open.
            thread.join(timeout=5)
    stop.set()
    reader.join()
    metrics.close()
    return code


@contextlib.contextmanager
def _sampled(run: ActiveRun, telemetry_secs: float) -> Iterator[None]:
    """Telemetry of a training that does not sample itself, because it is not watched from inside."""
    if not telemetry_secs:
        yield
        return
    stop = threading.Event()
    given = {"every_secs": telemetry_secs, "stop": stop}
    thread = threading.Thread(target=sampling, args=(run, run.directory), kwargs=given, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=5)


@contextlib.contextmanager
def _signals_passed_to(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Ctrl-C reaches the training directly; SIGTERM is passed on. Either way the run is recorded to its end."""

    def forward(number: int, frame: Any) -> None:
        with contextlib.suppress(OSError):
            process.send_signal(number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    before[signal.SIGTERM] = signal.signal(signal.SIGTERM, forward)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _note_exit_code(run: ActiveRun, code: int) -> None:
    from pulseboard.rundir.run_file import RunFileWriter

    with contextlib.suppress(OSError):
        RunFileWriter(run.directory).update(exit_code=code if code >= 0 else 128 - code)
