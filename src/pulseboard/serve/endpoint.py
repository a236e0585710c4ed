"""Endpoints: a function, and what it takes. One declaration routes, checks and documents a request."""

from __future__ import annotations

import hashlib
import importlib
import json
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pulseboard.serve import schema as schemas
from pulseboard.serve.answers import NotModified
from pulseboard.serve.errors import BadRequest
from pulseboard.serve.schema import Schema

if TYPE_CHECKING:
    from pulseboard.serve.access import Role
    from pulseboard.serve.board import Board
    from pulseboard.serve.request import Request


class Ask:
    """A checked request: its values by name."""

    def __init__(self, request: Request, values: Mapping[str, Any], *, role: Role) -> None:
        self.request, self.values, self.role = request, values, role
        self.tag: str | None = None

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def same_since(self, *state: object) -> None:
        """Say what the answer depends on besides the request. Ends here where the client has that answer already."""
        # Not `hash`, which differs from process to process.
        said = repr((self.request.path, self.values, state)).encode("utf-8", "backslashreplace")
        # Weak: the same answer may be compressed or not.
        self.tag = f'W/"{hashlib.blake2b(said, digest_size=12).hexdigest()}"'
        known = self.request.headers.get("if-none-match", "")
        if self.tag in (part.strip() for part in known.split(",")):
            raise NotModified(self.tag)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One row of the interface's table."""

    method: str
    path: str  # below api/
    summary: str
    answer: Callable[[Board, Ask], Any]
    query: Mapping[str, Schema] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    body: Schema | None = None
    gives: Schema | None = None  # of a JSON answer; None: any
    media_type: str = "application/json"
    full_role: bool = False
    inline: bool = False  # answered in memory, at once: needs no thread

    async def ask(self, request: Request, *, role: Role) -> Ask:
        """The request, checked."""
        query = request.query()
        query.pop("token", None)
        values = schemas.check_query(query, self.query, required=self.required)
        if self.body is not None:
            values = {**values, **_read_body(await request.body(), request, self.body)}
        return Ask(request, values, role=role)


def _read_body(data: bytes, request: Request, schema: Schema) -> dict[str, Any]:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        # A form of another site can send text, but never this type without asking first.
        raise BadRequest(
            f"The body is {media_type or 'of no type'}.", do="Send JSON, with Content-Type: application/json."
        )
    try:
        value = json.loads(data, parse_constant=_no_such_number)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"The body is no JSON: {str(error)[:200]}.") from None
    checked: dict[str, Any] = schemas.check(value, schema, at="body")
    return checked


def _no_such_number(word: str) -> float:
    raise ValueError(f"JSON has no {word}")


ENDPOINTS: dict[str, dict[str, Endpoint]] = {}
"""By path, then by method."""


def endpoint(
    method: str, path: str, summary: str, **declared: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the function below as the answer to `method` at `path`."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        methods = ENDPOINTS.setdefault(path, {})
        if method in methods:
            other = methods[method].answer.__module__
            raise ValueError(f"{method} {path} is declared twice: in {other} and in {function.__module__}.")
        methods[method] = Endpoint(method, path, summary, function, **declared)
        return function

    return declare


def load_endpoints() -> dict[str, dict[str, Endpoint]]:
    """Every endpoint of `routes/`."""
    from pulseboard.serve import routes

    for found in pkgutil.iter_modules(routes.__path__):
        importlib.import_module(f"{routes.__name__}.{found.name}")
    return ENDPOINTS
