"""URLs of databases: `clickhouse://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE[?secure=1]`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

from pulseboard.core.errors import PulseboardError

SCHEME = "clickhouse"
PASSWORD_VARIABLE = "PULSEBOARD_CLICKHOUSE_PASSWORD"

_PORT, _SECURE_PORT = 8123, 8443
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


class BadDatabaseUrl(PulseboardError, ValueError):
    """A URL that does not name a database."""

    def __init__(self, why: str, url: str) -> None:
        super().__init__(f"{why} Use clickhouse://[USER@]HOST[:PORT]/DATABASE[?secure=1], not {url}")


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """Where a database is, and as whom to connect."""

    host: str
    port: int
    name: str
    secure: bool
    user: str
    password: str = field(repr=False)

    def __str__(self) -> str:
        """Without the password."""
        user = f"{self.user}@" if self.user != "default" else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{SCHEME}://{user}{host}:{self.port}/{self.name}{'?secure=1' if self.secure else ''}"


def is_database(text: str) -> bool:
    """Whether a path that a user gave is the URL of a database."""
    return text.startswith(f"{SCHEME}://")


def database_among(paths: Iterable[str | os.PathLike[str]]) -> str | None:
    """The database among the paths that a user gave; None if there is none. Raises BadDatabaseUrl if it has company."""
    given = [os.fspath(path) for path in paths]
    found = [path for path in given if is_database(path)]
    if found and len(given) > 1:
        raise BadDatabaseUrl("A database cannot be shown together with other paths.", found[0])
    return found[0] if found else None


def parse_url(text: str) -> DatabaseUrl:
    """Parse the URL of a database. The password may come from an environment variable, which `ps` does not show.

    Raises BadDatabaseUrl.
    """
    shown = re.sub(r":[^:@/]*@", ":…@", text)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise BadDatabaseUrl(f"This is not a URL: {error}.", shown) from None
    options = parse_qs(parts.query)
    if unknown := sorted(options.keys() - {"secure"}):
        raise BadDatabaseUrl(f"Unknown option {unknown[0]!r}.", shown)
    name = unquote(parts.path).strip("/")
    if not parts.hostname:
        raise BadDatabaseUrl("The URL names no host.", shown)
    if not _NAME.fullmatch(name):
        raise BadDatabaseUrl("Name the database with letters, digits and _.", shown)
    secure = options.get("secure", ["0"])[-1] not in ("0", "false", "no")
    return DatabaseUrl(
        host=parts.hostname,
        port=port or (_SECURE_PORT if secure else _PORT),
        name=name,
        secure=secure,
        user=unquote(parts.username or "default"),
        password=unquote(parts.password or "") or os.environ.get(PASSWORD_VARIABLE, ""),
    )
