"""What was sent, in a file in the user's data directory, so that a restart sends nothing twice."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from pulseboard.core.user_data import data_directory

_SCHEMA = 1
# Entries of runs that are long gone: the oldest are forgotten.
_MAX_ENTRIES = 20_000


class Memory:
    """Entries by key, each a JSON object. Saved as a whole after every change, by renaming."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._entries: dict[str, dict[str, Any]] = _load(path)

    @classmethod
    def of_rules(cls, rules_path: str) -> Memory:
        """The memory that belongs to a file of rules."""
        name = hashlib.sha256(os.path.realpath(rules_path).encode()).hexdigest()[:16]
        return cls(data_directory() / "alerts" / f"{name}.json")

    def get(self, key: str) -> dict[str, Any] | None:
        """What is known under a key."""
        return self._entries.get(key)

    def put(self, key: str, entry: dict[str, Any]) -> None:
        """Keep an entry. Raises OSError if it cannot be saved."""
        self._entries.pop(key, None)
        self._entries[key] = entry
        while len(self._entries) > _MAX_ENTRIES:
            self._entries.pop(next(iter(self._entries)))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps({"schema": _SCHEMA, "sent": self._entries}), encoding="utf-8")
        os.replace(part, self.path)


def _load(path: Path) -> dict[str, dict[str, Any]]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["sent"]
        return {str(key): dict(entry) for key, entry in found.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
