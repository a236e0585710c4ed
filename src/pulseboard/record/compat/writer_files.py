"""The event files of a SummaryWriter: opened, flushed, closed, and replaced after a fork."""

from __future__ import annotations

import atexit
import os
import socket
import threading
import time
import weakref
from datetime import datetime
from types import TracebackType
from typing import Any, TypeVar

from pulseboard.record.compat.file_writer import FileWriter
from pulseboard.record.worker import Worker
from pulseboard.tbformat import event
from pulseboard.tbformat.projector import Embedding

Writer = TypeVar("Writer", bound="WriterFiles")

_open_writers: weakref.WeakSet[WriterFiles] = weakref.WeakSet()


class WriterFiles:
    """The part of SummaryWriter that has no `add_` methods."""

    # All three are None while the writer is closed. The first two have torch's names, since other libraries use them.
    file_writer: FileWriter | None
    all_writers: dict[str, FileWriter] | None  # by directory: the run's, and those of add_scalars below it
    _worker: Worker | None

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        """Write to `log_dir`; without it, to runs/<date>_<host><comment>.

        `purge_step` hides what an earlier writer logged at that step and later, for a training that was restarted.
        `max_queue` and `flush_secs` have no effect: each call has handed its record to the operating system when it
        returns, on a shared file system about a second later.
        """
        if not log_dir:
            date = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{date}_{socket.gethostname()}{comment}")
        if "://" in str(log_dir):
            raise ValueError(
                "SummaryWriter writes to file systems, but this log_dir is a URL. Mount it, or write to a local "
                f"directory and copy that. log_dir: {log_dir}"
            )
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self._embeddings: list[Embedding] = []
        self._open_lock = threading.RLock()
        self._forget_files()
        self._get_file_writer()

    def get_logdir(self) -> str | os.PathLike[str]:
        """The directory of the run."""
        return self.log_dir

    def flush(self) -> None:
        """Hand everything to the operating system."""
        for writer in list((self.all_writers or {}).values()):
            writer.flush()

    def close(self) -> None:
        """Write what waits, and close. A later call starts a new file."""
        with self._open_lock:
            writers, worker = self.all_writers, self._worker
            self._forget_files()
        if worker is not None:
            worker.stop()
        for writer in list((writers or {}).values()):
            writer.close()
        _open_writers.discard(self)

    def __enter__(self: Writer) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _add(self, *values: bytes, step: Any = None, walltime: float | None = None) -> None:
        (self.file_writer or self._get_file_writer()).add_values(*values, step=step, walltime=walltime)

    def _get_file_writer(self) -> FileWriter:
        """The run's file, opened if it is closed. torch's name, since other libraries call it."""
        if (writer := self.file_writer) is not None:
            return writer
        with self._open_lock:
            if (writer := self.file_writer) is not None:
                return writer
            writer = self._new_file_writer(str(self.log_dir))
            if self.purge_step is not None:
                start = event.session_start_event(step=int(self.purge_step), wall_time=time.time())
                writer.file.record(start)
                self.purge_step = None
            self.all_writers = {writer.get_logdir(): writer}
            self._worker = Worker(self._tick)
            self._worker.start()
            self.file_writer = writer
        _open_writers.add(self)
        return writer

    def _file_writer_in(self, log_dir: str) -> FileWriter:
        with self._open_lock:
            self._get_file_writer()
            assert self.all_writers is not None
            if log_dir not in self.all_writers:
                self.all_writers[log_dir] = self._new_file_writer(log_dir)
            return self.all_writers[log_dir]

    def _new_file_writer(self, log_dir: str) -> FileWriter:
        return FileWriter(log_dir, self.max_queue, self.flush_secs, self.filename_suffix)

    def _forget_files(self) -> None:
        self.file_writer = self.all_writers = self._worker = None

    def _tick(self) -> None:
        for writer in list((self.all_writers or {}).values()):
            writer.tick()

    def after_fork(self) -> None:
        """In a forked child the files are the parent's. A child that logs, which few do, opens its own."""
        self._open_lock = threading.RLock()
        self._forget_files()


@atexit.register
def _close_all() -> None:
    for writer in list(_open_writers):
        writer.close()


def _after_fork() -> None:
    for writer in list(_open_writers):
        writer.after_fork()
    _open_writers.clear()


os.register_at_fork(after_in_child=_after_fork)
