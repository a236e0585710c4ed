"""What users add to runs, kept in the database for the whole team: marks and saved views."""

from __future__ import annotations

import copy
import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from pulseboard.database.connection import Connection

Entries = dict[str, dict[str, Any]]

# Other servers' changes appear after this long.
_KEPT_SECS = 1.0


class StoredEntries:
    """Entries of one kind by key, each a JSON object. If two servers change the same one, the last change counts."""

    def __init__(self, connection: Connection, kind: str) -> None:
        self._connection, self._kind = connection, kind
        self._lock = threading.Lock()
        self._entries: Entries = {}
        self._read_at = -_KEPT_SECS

    def all(self) -> Mapping[str, dict[str, Any]]:
        """Every entry. Raises DatabaseError."""
        with self._lock:
            if time.monotonic() - self._read_at >= _KEPT_SECS:
                sql = "SELECT key, value FROM {db}.entries FINAL WHERE kind = {kind:String} AND value != ''"
                rows = self._connection.rows(sql, kind=self._kind)
                self._entries = {key: json.loads(value) for key, value in rows}
                self._read_at = time.monotonic()
            return self._entries

    def change(self, update: Callable[[Entries], None], *, by: str | None = None) -> None:
        """Let `update` change the entries, and save those that it changed, and who did. Raises DatabaseError."""
        self._read_at = -_KEPT_SECS
        before = self.all()
        after = copy.deepcopy(dict(before))
        update(after)
        changed = [key for key in before.keys() | after.keys() if before.get(key) != after.get(key)]
        if not changed:
            return
        values = [json.dumps(after[key], ensure_ascii=False) if key in after else "" for key in changed]
        columns = {
            "kind": ("LowCardinality(String)", [self._kind] * len(changed)),
            "key": ("String", changed),
            "value": ("String", values),
            "server": ("String", [socket.gethostname()] * len(changed)),
        }
        self._connection.insert("audit", columns | {"who": ("String", [by or ""] * len(changed))}, token="")
        self._connection.insert("entries", columns, token="")
        with self._lock:
            self._entries = after
