"""What the recorder has to say: to the error output, once for each thing, and never more."""

from __future__ import annotations

import sys
import threading

_said: set[str] = set()
_lock = threading.Lock()


def say_once(key: str, message: str) -> None:
    """Print `message`, unless one with this key was printed before. Never raises."""
    with _lock:
        if key in _said:
            return
        _said.add(key)
    say(message)


def say(message: str) -> None:
    """Print a message of the recorder's own. Never raises: a closed stream is no reason to stop a job."""
    try:
        print(f"pulseboard: {message}", file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError):
        pass


def forget() -> None:
    """Let everything be said again; for a new run in the same process, and for tests."""
    with _lock:
        _said.clear()
