"""The file of rules, which people and the page change: what it says now, and what is new since it was last read."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulseboard.alerts.rules import BadRules, Rules, parse_rules
from pulseboard.alerts.rules_text import Kind, with_table
from pulseboard.core.errors import PulseboardError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Only the user may read it: the addresses of destinations are often secret.
_MODE = 0o600


class ChangedMeanwhile(PulseboardError):
    """Someone else has changed the file."""


@dataclass(frozen=True, slots=True)
class Content:
    """What the file says at one time."""

    text: str
    tables: Mapping[str, Any]  # as TOML
    rules: Rules

    @property
    def version(self) -> str:
        """Another one for every other text."""
        return hashlib.blake2b(self.text.encode(), digest_size=8).hexdigest()


class RulesFile:
    """A file of rules. It need not exist: then there are none. Thread-safe."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.realpath(path)
        self._lock = threading.Lock()
        self._seen = self._state()

    def read(self) -> Content:
        """What it says now. Raises BadRules."""
        try:
            text = Path(self.path).read_text(encoding="utf-8")
        except FileNotFoundError:
            text = ""
        except OSError as error:
            raise BadRules(self.path, f"Cannot read the rules: {error.strerror}.") from None
        except UnicodeDecodeError as error:
            raise BadRules(self.path, f"The rules are not valid TOML: {error}.") from None
        return self._parsed(text)

    def take_change(self) -> Rules | None:
        """The rules if the file has changed since the last call, None otherwise. Raises BadRules once per change."""
        state = self._state()
        if state == self._seen:
            return None
        self._seen = state
        return self.read().rules

    def change(self, kind: Kind, index: int | None, table: Mapping[str, Any] | None, *, version: str) -> Content:
        """Add (`index` is None), change or remove (`table` is None) a table of the content with this version.

        Raises ChangedMeanwhile, NotEditable, BadRules, and OSError if the file cannot be written.
        """
        with self._lock:
            before = self.read()
            if before.version != version:
                raise ChangedMeanwhile("The rules have changed since this page read them. Look at them again.")
            after = self._parsed(with_table(before.text, kind, index, table))
            self._write(after.text)
            return after

    def _parsed(self, text: str) -> Content:
        rules = parse_rules(text, self.path) if _says_something(text) else Rules(self.path, {}, ())
        return Content(text, tomllib.loads(text), rules)

    def _write(self, text: str) -> None:
        import tempfile

        mode = os.stat(self.path).st_mode & 0o777 if os.path.exists(self.path) else _MODE
        handle, part = tempfile.mkstemp(prefix=".alerts-", dir=os.path.dirname(self.path))
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
            os.chmod(part, mode)
            os.replace(part, self.path)
        except OSError:
            os.unlink(part)
            raise

    def _state(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino, found.st_size


def _says_something(text: str) -> bool:
    return any(line.strip()[:1] not in ("", "#") for line in text.splitlines())
