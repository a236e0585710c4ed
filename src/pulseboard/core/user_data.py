"""The directory for the user's own data: never in a log directory, and not in the cache, which may be deleted."""

from __future__ import annotations

import os
from pathlib import Path


def data_directory() -> Path:
    """`$PULSEBOARD_DATA_DIR`, or `pulseboard` below the user's data directory."""
    if configured := os.environ.get("PULSEBOARD_DATA_DIR"):
        return Path(configured)
    base = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return Path(base) / "pulseboard"
