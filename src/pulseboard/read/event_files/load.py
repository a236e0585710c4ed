"""Loads many event files at once, with one thread per core."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence

from pulseboard.kernel.reader import Batch
from pulseboard.read.event_files.event_file import EventFile

Progress = Callable[[int, int], None]
"""Called with the number of files done and the number of files in total."""

# More than eight readers wait for memory, not for cores.
_MAX_THREADS = 8
_PROGRESS_SECS = 0.1


def load_files(
    files: Sequence[EventFile], *, progress: Progress | None = None, meanwhile: Callable[[], None] | None = None
) -> None:
    """Read what is new in each file, starting with the first. Call `meanwhile` in the calling thread as they load."""
    plain = [file for file in files if not file.archived]
    archived = iter([file for file in files if file.archived])
    batch = Batch([file.log for file in plain], [os.fsencode(file.path) for file in plain])
    archived_done = 0
    next_archived = threading.Lock()

    def work() -> None:
        nonlocal archived_done
        batch.work()
        while True:
            with next_archived:
                file = next(archived, None)
            if file is None:
                return
            file.load()
            archived_done += 1

    # The calling thread is one of the workers unless it reports progress, if need be after `meanwhile`.
    thread_count = min(len(files), os.cpu_count() or 1, _MAX_THREADS) - (progress is None)
    if meanwhile is not None:
        thread_count = max(1, thread_count)
    threads = [threading.Thread(target=work, name="pulseboard-read", daemon=True) for _ in range(thread_count)]
    for thread in threads:
        thread.start()
    try:
        if meanwhile is not None:
            meanwhile()
        if progress is None:
            work()
        for thread in threads:
            while thread.is_alive():
                thread.join(_PROGRESS_SECS)
                if progress is not None:
                    progress(batch.done + archived_done, len(files))
        if progress is not None and files:
            progress(len(files), len(files))
    except BaseException:  # Ctrl-C: let each thread finish its current file and start no other
        batch.cancel()
        raise
