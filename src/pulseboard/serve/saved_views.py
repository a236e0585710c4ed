"""Views that users saved by name, kept in the user's data directory.

A view is the part of the page's address after `#`. Each set of log directories has its own views.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pulseboard.core.locations import is_url
from pulseboard.core.user_data import data_directory
from pulseboard.serve.http import schema
from pulseboard.serve.user_file import Entries, UserFile

MAX_VIEWS = 1000
HASH = schema.string("what follows # in the page's address", max_length=100_000)
SAVED_VIEW = schema.named_record(
    "SavedView",
    {
        "name": schema.string(),
        "hash": HASH,
        "saved": schema.number("wall time"),
        "by": schema.nullable(schema.string("the name of the token of the user who saved it")),
    },
)


class SavedViews:
    """The views of some log directories. Thread-safe."""

    def __init__(self, directories: Sequence[str], path: Path | None = None, *, entries: Entries | None = None) -> None:
        """`entries` keeps the views instead of a file."""
        self._file = entries or UserFile(path or data_directory() / "views.json", holds="views")
        self._key = "\n".join(sorted(one if is_url(one) else os.path.realpath(one) for one in directories))

    def all(self) -> list[dict[str, Any]]:
        """The views, sorted by name."""
        views = self._file.all().get(self._key, {})
        return [{"name": name, **view} for name, view in sorted(views.items())]

    def set(self, hashes: Mapping[str, str | None], *, by: str | None = None) -> None:
        """Save views by name; None removes one. Those not named stay as they are."""

        def update(entries: dict[str, dict[str, Any]]) -> None:
            views = dict(entries.get(self._key, {}))
            for name, one in hashes.items():
                if one is None:
                    views.pop(name, None)
                else:
                    views[name] = {"hash": one, "saved": time.time(), "by": by}
            entries[self._key] = views
            if not views:
                del entries[self._key]

        self._file.change(update, by=by)
