"""Whether the system reports changes of files, tried out."""

from __future__ import annotations

import threading
import time
from pathlib import Path

_RETRY_SECS = 0.2


def secs_until_reported(directory: Path, *, timeout_secs: float) -> float | None:
    """Write files to an empty directory until a change is reported. None if none is within the time."""
    from watchfiles import watch

    stop = threading.Event()
    began = time.monotonic()

    def write() -> None:
        # The first may be written before the watch is active.
        for i in range(int(timeout_secs / _RETRY_SECS)):
            (directory / f"{i}.txt").write_text("changed", encoding="utf-8")
            if stop.wait(_RETRY_SECS):
                return
        stop.set()

    writer = threading.Thread(target=write, name="pulseboard-file-events", daemon=True)
    writer.start()
    try:
        for _ in watch(directory, stop_event=stop, debounce=50, step=10, rust_timeout=100, raise_interrupt=False):
            return time.monotonic() - began
    except (OSError, RuntimeError):  # the system has no watches left
        pass
    finally:
        stop.set()
        writer.join()
    return None
