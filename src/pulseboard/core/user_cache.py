"""The user's cache directory: what can be made again, and may be deleted at any time."""

from __future__ import annotations

import os
from pathlib import Path


def cache_directory() -> Path:
    """Pulseboard's directory below the user's cache directory."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(configured) if os.path.isabs(configured) else Path.home() / ".cache"
    return base / "pulseboard"
