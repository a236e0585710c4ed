"""Messages of the recorder to the user: lines on stderr."""

from __future__ import annotations

import sys
import threading

_shown_keys: set[str] = set()
_lock = threading.Lock()


def warn_once(key: str, message: str) -> None:
    """Print `message` unless one with this key was printed before. Never raises."""
    with _lock:
        if key in _shown_keys:
            return
        _shown_keys.add(key)
    warn(message)


def warn(message: str) -> None:
    """Print a warning. Never raises."""
    inform(message)


def inform(message: str) -> None:
    """Print a message that is not a warning. Never raises: a closed stderr must not stop the training."""
    try:
        print(f"pulseboard: {message}", file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError):
        pass


def reset() -> None:
    """Allow every `warn_once` message to be printed again: for a new run in the same process, and for tests."""
    with _lock:
        _shown_keys.clear()
