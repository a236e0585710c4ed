"""A request as the server hands it over, with its query and headers read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

from pulseboard.serve.errors import BadRequest, TooLarge

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

# Names of ten thousand runs fit in; more than that is no question about a chart.
MOST_BODY_BYTES = 4 << 20
MOST_QUERY_FIELDS = 20_000


class ClientGone(Exception):
    """The client went away before it had said what it wants."""


class Request:
    """One HTTP request."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.scheme: str = scope.get("scheme", "http")
        client = scope.get("client")
        self.client: str = client[0] if client else ""
        self.headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            self.headers.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
        self._query_string: bytes = scope.get("query_string", b"")
        self._receive = receive

    @property
    def query_string(self) -> str:
        """What stands behind the question mark, as it came."""
        return self._query_string.decode("latin-1")

    def query(self) -> dict[str, list[str]]:
        """The query's values by name, each as often as it was given."""
        if not self._query_string:
            return {}
        try:
            return parse_qs(
                self.query_string, keep_blank_values=True, errors="strict", max_num_fields=MOST_QUERY_FIELDS
            )
        except ValueError as error:  # UnicodeDecodeError too
            raise BadRequest("The query cannot be read.", do="Encode its values as UTF-8, with %XX.") from error

    async def body(self) -> bytes:
        """The whole body, up to a bound."""
        if int(self.headers.get("content-length", "0") or 0) > MOST_BODY_BYTES:
            raise TooLarge("The body is too large.", do=f"Send at most {MOST_BODY_BYTES} bytes.")
        parts: list[bytes] = []
        size = 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > MOST_BODY_BYTES:
                raise TooLarge("The body is too large.", do=f"Send at most {MOST_BODY_BYTES} bytes.")
            if not message.get("more_body", False):
                return b"".join(parts)

    async def gone(self) -> None:
        """Return when the client has gone away."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
