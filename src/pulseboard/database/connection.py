"""A connection to a database: inserts that happen once, queries to arrays, and errors that say what to do."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pulseboard.core.errors import MissingPackage, RemoteError
from pulseboard.database import native
from pulseboard.database.url import DatabaseUrl

Columns = Mapping[str, tuple[str, Any]]
"""Rows by column: name -> type in the database, and values."""

CONNECT_SECS, RECEIVE_SECS = 10, 300
MAX_ROWS = 1_000_000
"""An insert of no more rows than this is one block, which is in the table as a whole or not at all."""

# One insert is one part of the table: a token then stands for all of its rows.
_ONE_BLOCK = {
    "async_insert": 0,
    "insert_deduplicate": 1,
    "max_insert_block_size": 1 << 20,
    "min_insert_block_size_rows": 1 << 20,
    "min_insert_block_size_bytes": 1 << 30,
}

_CODE = re.compile(r"(?:error code|Code:) (\d+)")
_NO_RIGHTS = {497: "may not do this", 516: "is not known there, or the password is wrong", 192: "is not known there"}
_MISSING = {60, 81}  # the table, the database
_READ_ONLY = {164, 242}
_FULL = {243, 241, 252}  # disk, memory, parts


class DatabaseError(RemoteError):
    """The database cannot be used."""

    transient = True
    """Whether it may work later without a change by the user."""


class NoRights(DatabaseError):
    """The user may not do this there."""

    transient = False


class NoSchema(DatabaseError):
    """The database or its tables do not exist, or are of another version."""

    transient = False


class Connection:
    """A database. Any thread may use it."""

    def __init__(self, url: DatabaseUrl) -> None:
        try:
            import clickhouse_connect
        except ImportError:
            raise MissingPackage("A clickhouse:// URL", package="clickhouse-connect", extra="clickhouse") from None
        # What it logs it also raises, and we report that.
        logging.getLogger("clickhouse_connect").setLevel(logging.CRITICAL)
        self.url = url
        with self._errors():
            self._client = clickhouse_connect.get_client(
                host=url.host,
                port=url.port,
                username=url.user,
                password=url.password,
                interface="https" if url.secure else "http",
                # The database may not exist yet, so every statement names it.
                database="default",
                connect_timeout=CONNECT_SECS,
                send_receive_timeout=RECEIVE_SECS,
                # With a session, two threads could not query at the same time.
                autogenerate_session_id=False,
                compress=not _is_near(url.host),
                query_limit=0,
            )

    def close(self) -> None:
        """End the connection."""
        self._client.close()

    def table(self, name: str) -> str:
        """A table as SQL names it."""
        return f"`{self.url.name}`.`{name}`"

    # ---- statements

    def run(self, sql: str) -> None:
        """Run a statement. `{db}` is replaced with the name of the database."""
        with self._errors():
            self._client.command(sql.replace("{db}", f"`{self.url.name}`"))

    def rows(self, sql: str, *, binary: bool = False, **parameters: Any) -> list[tuple[Any, ...]]:
        """The rows of a query. `{db}` is replaced; `{name:Type}` stands for a parameter. `binary`: text as bytes."""
        with self._errors():
            sql = sql.replace("{db}", f"`{self.url.name}`")
            formats = {"String": "bytes"} if binary else None
            return [
                tuple(row) for row in self._client.query(sql, parameters=parameters, query_formats=formats).result_rows
            ]

    def columns(self, sql: str, *dtypes: Any, **parameters: Any) -> list[NDArray[Any]]:
        """The columns of a query of numbers only, which have these types."""
        with self._errors():
            sql = sql.replace("{db}", f"`{self.url.name}`")
            return native.columns(self._client.raw_query(sql, parameters=parameters, fmt="Native"), dtypes)

    def array(self, sql: str, dtype: np.dtype[Any], **parameters: Any) -> NDArray[Any]:
        """The rows of a query of numbers only, as a structured array whose fields are its columns in order."""
        names = dtype.names or ()
        found = self.columns(sql, *(dtype[name] for name in names), **parameters)
        rows = np.empty(len(found[0]), dtype)
        for name, column in zip(names, found, strict=True):
            rows[name] = column
        return rows

    def insert(self, table: str, columns: Columns, *, token: str) -> None:
        """Insert rows, given as columns with their types. Rows with a token that was used before are not inserted.

        An empty token is none.
        """
        lengths = {len(values) for _, values in columns.values()}
        assert len(lengths) == 1
        assert max(lengths) <= MAX_ROWS
        if lengths == {0}:
            return
        with self._errors():
            self._client.insert(
                self.table(table),
                [values for _, values in columns.values()],
                column_names=list(columns),
                column_type_names=[kind for kind, _ in columns.values()],
                column_oriented=True,
                settings={**_ONE_BLOCK, "insert_deduplication_token": token} if token else _ONE_BLOCK,
            )

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        from clickhouse_connect.driver.exceptions import Error
        from urllib3.exceptions import HTTPError

        try:
            yield
        except (Error, HTTPError, OSError) as error:
            raise self._error(error) from error

    def _error(self, error: Exception) -> DatabaseError:
        url, text = str(self.url), str(error)
        found = _CODE.search(text)
        code = int(found[1]) if found else 0
        if code in _NO_RIGHTS:
            advice = f"Grant it the rights in docs/guides/scale-out.md, or use another user. ({_brief(text)})"
            return NoRights(url, why=f"The user {self.url.user!r} {_NO_RIGHTS[code]}.", advice=advice)
        if code in _MISSING:
            return NoSchema(url, why="The database holds no runs.", advice="Fill it with `pulseboard push LOGDIR URL`:")
        if code in _FULL:
            return DatabaseError(url, why=f"The server is short of room: {_brief(text)}.", advice="Nothing is lost.")
        if code in _READ_ONLY:
            return DatabaseError(url, why="The database is read-only at the moment.", advice="Nothing is lost.")
        if not code:
            return DatabaseError(
                url, why="The server does not answer.", advice="Is it running, and is this its HTTP port?"
            )
        return DatabaseError(url, why=f"The server reports an error: {_brief(text)}.", advice="")


def _is_near(host: str) -> bool:
    """Whether the server is on this machine, where compressing costs more than it saves."""
    return host in ("localhost", "127.0.0.1", "::1")


def _brief(text: str) -> str:
    """The server's message without its version and stack."""
    text = re.sub(r"^.*?DB::Exception: ", "", text.replace("\n", " "))
    return re.sub(r"\s*\((?:version|for url).*$", "", text).strip(" .")[:300]
