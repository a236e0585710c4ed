"""One HTTP request, read from an ASGI scope."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

from pulseboard.serve.http.errors import BadRequest, TooLarge

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

# Enough for the names of ten thousand runs; no chart needs more.
MAX_BODY_BYTES = 4 << 20
MAX_QUERY_FIELDS = 20_000


class ClientDisconnected(Exception):
    """The client disconnected before it had sent the whole request."""


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
        """The part of the address after the question mark, not decoded."""
        return self._query_string.decode("latin-1")

    def query(self) -> dict[str, list[str]]:
        """The query's values by name; a repeated name has several."""
        if not self._query_string:
            return {}
        try:
            return parse_qs(self.query_string, keep_blank_values=True, errors="strict", max_num_fields=MAX_QUERY_FIELDS)
        except ValueError as error:  # includes UnicodeDecodeError
            raise BadRequest("Invalid query string.", do="Percent-encode its values as UTF-8.") from error

    async def body(self) -> bytes:
        """The whole body. Raises TooLarge if it is larger than the limit."""
        if int(self.headers.get("content-length", "0") or 0) > MAX_BODY_BYTES:
            raise TooLarge("The body is too large.", do=f"Send at most {MAX_BODY_BYTES} bytes.")
        parts: list[bytes] = []
        size = 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnected
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > MAX_BODY_BYTES:
                raise TooLarge("The body is too large.", do=f"Send at most {MAX_BODY_BYTES} bytes.")
            if not message.get("more_body", False):
                return b"".join(parts)

    async def disconnected(self) -> None:
        """Return when the client has disconnected."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
