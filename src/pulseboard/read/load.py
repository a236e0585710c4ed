"""Loading: many files at once, by as many threads as the machine has cores."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence

from pulseboard.native import kernel
from pulseboard.read.readers.event_file import EventFile

Progress = Callable[[int, int], None]
"""Called with files done and files in all."""

# More than eight readers wait for memory, not for cores.
_MOST_THREADS = 8
_PROGRESS_SECS = 0.1


def load_files(files: Sequence[EventFile], *, progress: Progress | None = None) -> None:
    """Read what is new in each file. The files are taken in the order given."""
    plain = [file for file in files if not file.archived]
    archived = iter([file for file in files if file.archived])
    batch = kernel.Batch([file.log for file in plain], [os.fsencode(file.path) for file in plain])
    unpacked = 0
    next_archived = threading.Lock()

    def work() -> None:
        nonlocal unpacked
        batch.work()
        while True:
            with next_archived:
                file = next(archived, None)
            if file is None:
                return
            file.load()
            unpacked += 1

    helpers = min(len(files), os.cpu_count() or 1, _MOST_THREADS) - (progress is None)
    threads = [threading.Thread(target=work, name="pulseboard-read", daemon=True) for _ in range(helpers)]
    for thread in threads:
        thread.start()
    try:
        if progress is None:
            work()
        for thread in threads:
            while thread.is_alive():
                thread.join(_PROGRESS_SECS)
                if progress is not None:
                    progress(batch.done + unpacked, len(files))
        if progress is not None and files:
            progress(len(files), len(files))
    except BaseException:  # Ctrl-C: let the threads finish the file in hand, and no other
        batch.cancel()
        raise
