"""read: bytes on disk in, runs and series out.

Never writes, and never imports record. Each file remembers how far it was read, so a growing log directory costs
only its new bytes.

runs.py         Runs: the runs of every format, kept up to date (follow.py waits for changes)
run.py          Run, the interface of every kind of run
discovery/      what is in a log directory
event_files/    TensorBoard event files: EventFileRun
formats/        every other format, one file each (format.py declares them): ParsedRun
parsed_files/   the files of these formats: recognized, read, named and kept up to date
joining/        a training that was logged several times: JoinedRun
axis/           which columns of a table count the training, and the step of every row
parsing/        text, numbers and rows, for the readers in formats/
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    from pulseboard.read.event_files.load import Progress
    from pulseboard.read.runs import Runs


def any_runs(*paths: str | os.PathLike[str], progress: Progress | None = None) -> Runs:
    """The same as `pulseboard.read.runs.read`, which reads every format: kept for programs that use it."""
    from pulseboard.read.runs import read

    return read(*paths, progress=progress)
