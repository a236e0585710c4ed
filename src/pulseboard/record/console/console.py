"""The console: prints records as lines; plain in a pipe, colored and cut to width in a terminal.

    :: step     100 [ 12.5%] \\ loss 2.3456 | norm  0.1234 | 125.3k tps |   156 ms | sol 78.2 | eta 02h15m
    >> eval                      loss 2.1234 | gap +0.0123 | 145.2k tps |   234 ms

    [ 12.5%]  of the run if its number of steps is known, otherwise of the current epoch
    \\ or /    the loss is below or above its average over the five steps before
    norm !    the gradient norm is more than five times its moving average, or not a number
    aux imbal of a mixture of experts, if the step record has them
    sol       theoretical time / actual time * 100, after a speed-of-light estimate
    eta       time until 100 %, from recent step times
    gap       evaluation loss minus the average training loss since the last evaluation

In a terminal, fields that do not fit are left out, the least important first, then the line is cut. A terminal also
gets colors, unless NO_COLOR is set. In a pipe, lines are complete and plain.
"""

from __future__ import annotations

import math
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import TextIO

from pulseboard.core.json_numbers import decode_number
from pulseboard.record.console import lines
from pulseboard.record.console.progress import Progress
from pulseboard.record.messages import warn_once
from pulseboard.rundir.json_log import Record
from pulseboard.rundir.json_log_metrics import tokens_per_second

# A loop may log a thousand times per second, and nobody reads that many lines.
MIN_SECS_BETWEEN_SCALARS = 0.5
_TELEMETRY = ("gpu/", "memory/", "system/")


class LogVerbosity(IntEnum):
    """How much is printed."""

    SILENT = -2  # nothing
    MINIMAL = -1  # evaluations
    QUIET = -1
    DEFAULT = 0  # also steps, GPU models, datasets, and memory once
    VERBOSE = 1  # also GPU states, the files of datasets, and memory whenever it is logged


class Console:
    """Prints records as they come. Never raises: a closed stream must not stop the training."""

    def __init__(
        self,
        *,
        verbosity: int = LogVerbosity.DEFAULT,
        total_steps: int | None = None,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Print to `stream`, or to what is standard output at the time of printing."""
        self.verbosity = max(LogVerbosity.SILENT, min(LogVerbosity.VERBOSE, int(verbosity)))
        self._progress = Progress(total_steps=total_steps)
        self._peak_tps: float | None = None
        self._stream = stream
        self._clock = clock
        self._scalars_at = -math.inf
        self._memory_shown = False
        self._broken = False
        self._lock = threading.RLock()

    def set_total_steps(self, total_steps: int | None) -> None:
        """Set how many steps the run will have."""
        self._progress.total_steps = total_steps

    def show(
        self,
        record: Record,
        *,
        dtypes: tuple[str, str, str] = ("bf16", "bf16", "bf16"),
        files: Iterable[tuple[str, int | None]] = (),
    ) -> None:
        """Print a record if the verbosity includes it. `dtypes` is for 'sol' records, `files` for 'dataset' ones."""
        if self.verbosity < LogVerbosity.MINIMAL:
            return
        try:
            with self._lock:
                for line in self._lines(record, dtypes=dtypes, files=files):
                    self._print(line)
        except Exception as error:
            warn_once("console", f"A record could not be printed: {type(error).__name__}: {error}")

    def after_fork(self) -> None:
        """In a forked child: the lock may have been held by a thread of the parent."""
        self._lock = threading.RLock()

    def _lines(
        self, record: Record, *, dtypes: tuple[str, str, str], files: Iterable[tuple[str, int | None]]
    ) -> list[str]:
        kind, normal, verbose = record.get("log"), self.verbosity >= 0, self.verbosity >= 1
        if kind == "step":
            return self._step(record)
        if kind == "scalars":
            return self._scalars(record)
        if kind == "eval":
            return [lines.eval_line(record, gap=self._progress.gap(decode_number(record.get("loss"))))]
        if kind == "sol":
            self._peak_tps = decode_number(record.get("tps"))
            return lines.sol_lines(record, dtypes=dtypes) if normal else []
        if kind == "gpu":
            return [lines.gpu_line(record)] if verbose else []
        if kind == "gpu-model":
            return lines.gpu_model_lines(record, verbose=verbose) if normal else []
        if kind == "dataset":
            return lines.dataset_lines(record, verbose=verbose, files=files) if normal else []
        if kind == "allocator":
            shown, self._memory_shown = self._memory_shown, True
            return lines.allocator_lines(record) if verbose or (normal and not shown) else []
        return []

    def _step(self, record: Record) -> list[str]:
        percent, eta_secs = self._progress.step(
            record["step"],
            epoch=decode_number(record.get("epoch")),
            duration_ms=decode_number(record.get("duration_ms")),
        )
        trend = self._progress.loss(decode_number(record.get("loss")))
        spike = self._progress.norm(decode_number(record.get("norm")))
        if self.verbosity < 0:
            return []
        rate, peak = tokens_per_second(record, tokens="step_tokens"), self._peak_tps
        # The theoretical time of the step is its tokens divided by the peak tokens per second.
        sol = 100 * rate / peak if rate is not None and peak is not None and peak > 0 else None
        return [lines.step_line(record, percent=percent, trend=trend, spike=spike, sol=sol, eta_secs=eta_secs)]

    def _scalars(self, record: Record) -> list[str]:
        values, now = record.get("values", {}), self._clock()
        if all(name.startswith(_TELEMETRY) for name in values):
            return [lines.scalars_line(record)] if values and self.verbosity >= 1 else []
        loss, norm = lines.loss_name(values), lines.norm_name(values)
        trend = self._progress.loss(decode_number(values[loss])) if loss is not None else " "
        spike = self._progress.norm(decode_number(values[norm])) if norm is not None else False
        percent, eta_secs = self._progress.step_at(record["step"], now_secs=now)
        # A spike is always printed.
        if self.verbosity < 0 or (not spike and now - self._scalars_at < MIN_SECS_BETWEEN_SCALARS):
            return []
        self._scalars_at = now
        max_values = None if self.verbosity >= 1 else lines.MAX_SCALARS
        return [
            lines.scalars_line(
                record, percent=percent, trend=trend, spike=spike, eta_secs=eta_secs, max_values=max_values
            )
        ]

    def _print(self, line: str) -> None:
        stream = self._stream if self._stream is not None else sys.stdout
        if self._broken or stream is None:
            return
        if not line.isprintable():  # a name from outside may hold anything, even terminal escape codes
            line = "".join(char if char.isprintable() else "?" for char in line)
        try:
            if _is_terminal(stream):
                width = _width(stream)
                line = fit(line, width) if width else line
                line = paint(line) if _may_use_color() else line
            try:
                stream.write(line + "\n")
            except UnicodeEncodeError:
                stream.write(line.encode("ascii", "backslashreplace").decode() + "\n")
            stream.flush()
        except BrokenPipeError:
            self._broken = True
        except (OSError, ValueError):
            pass  # a full non-blocking pipe, or a closed stream


# ---------- the width and colors of a terminal

# Fields that can be left out, the least important first: of a step, an evaluation, a GPU.
_OPTIONAL_FIELDS = (
    " ms",
    "fan ",
    "pcie ",
    "mem ",
    " tps",
    "imbal ",
    "aux ",
    "free ",
    "clock ",
    "util ",
    "sol ",
    "eta ",
)


def fit(line: str, width: int) -> str:
    """The line within `width` columns: without optional fields, and cut if that is not enough."""
    fields = line.split(" | ")
    for mark in _OPTIONAL_FIELDS:
        if len(" | ".join(fields)) <= width:
            break
        fields = [fields[0], *(field for field in fields[1:] if mark not in field)]
    line = " | ".join(fields)
    return line if len(line) <= width else line[: max(0, width - 3)] + "..."[: max(0, width)]


_RED, _GREEN, _YELLOW, _BOLD, _PLAIN = "\x1b[31;1m", "\x1b[32m", "\x1b[33m", "\x1b[1m", "\x1b[0m"
_WARNINGS = re.compile(r"\S*norm !\s*\S+|throttle .*|(?<=loss )\s*-?(?:nan|inf)\b")
_FALLING, _RISING = re.compile(r"(?<= )\\(?= )"), re.compile(r"(?<= )/(?= )")


def paint(line: str) -> str:
    """The line with terminal colors: evaluations bold, the trend green or yellow, warnings red."""
    if line.startswith(">> eval") or (line.startswith("[") and "]" in line):
        return _BOLD + line + _PLAIN
    line = _FALLING.sub(lambda _: f"{_GREEN}\\{_PLAIN}", line, count=1)
    line = _RISING.sub(f"{_YELLOW}/{_PLAIN}", line, count=1)
    return _WARNINGS.sub(lambda found: _RED + found[0] + _PLAIN, line)


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, OSError, ValueError):
        return False


def _width(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (AttributeError, OSError, ValueError):
        return 0


def _may_use_color() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
