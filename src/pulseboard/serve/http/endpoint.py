"""Endpoints: a function and what it accepts. One declaration routes, validates and documents a request."""

from __future__ import annotations

import hashlib
import importlib
import json
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pulseboard.serve.http.errors import BadRequest
from pulseboard.serve.http.responses import NotModified
from pulseboard.serve.http.schema import Schema
from pulseboard.serve.http.validation import validate, validate_query

if TYPE_CHECKING:
    from pulseboard.serve.http.request import Request
    from pulseboard.serve.http.work import LaneName
    from pulseboard.serve.live.dashboard import Dashboard
    from pulseboard.serve.security.access import Role


class ApiRequest:
    """A validated request to an endpoint: its values by name."""

    def __init__(
        self, http: Request, values: Mapping[str, Any], *, role: Role, user: Callable[[Request], str | None]
    ) -> None:
        self.http, self.values, self.role = http, values, role
        self._user = user
        self.etag: str | None = None

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def user(self) -> str | None:
        """The name of the token that the request has; None if it has none with a name."""
        return self._user(self.http)

    def revalidate(self, *state: object) -> None:
        """Set the ETag from the request and from `state`, everything else that the response depends on.

        Raises NotModified if the client already has that response.
        """
        # Not `hash`, which differs between processes.
        key = repr((self.http.path, self.values, state)).encode("utf-8", "backslashreplace")
        # Weak: the same response may be compressed or not.
        self.etag = f'W/"{hashlib.blake2b(key, digest_size=12).hexdigest()}"'
        known = self.http.headers.get("if-none-match", "")
        if self.etag in (part.strip() for part in known.split(",")):
            raise NotModified(self.etag)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one path."""

    method: str
    path: str  # below api/
    summary: str
    handler: Callable[[Dashboard, ApiRequest], Any]
    query: Mapping[str, Schema] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    body: Schema | None = None
    returns: Schema | None = None  # of a JSON response; None: any JSON
    media_type: str = "application/json"
    full_role: bool = False
    inline: bool = False  # fast enough to run on the event loop, without a thread
    lane: LaneName = "heavy"  # "quick": always fast, so that it need not wait for charts of other clients

    async def read(self, request: Request, *, role: Role, user: Callable[[Request], str | None]) -> ApiRequest:
        """The request, validated; `user` returns who sent it. Raises BadRequest if it does not fit the declaration."""
        query = request.query()
        query.pop("token", None)
        values = validate_query(query, self.query, required=self.required)
        if self.body is not None:
            values |= _read_body(await request.body(), request, self.body)
        return ApiRequest(request, values, role=role, user=user)


def _read_body(data: bytes, request: Request, schema: Schema) -> dict[str, Any]:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        # A form on another site can send text, but not this type without a preflight request.
        raise BadRequest(
            f"The content type of the body is {media_type or 'missing'}.",
            do="Send JSON with Content-Type: application/json.",
        )
    try:
        value = json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"The body is not valid JSON: {str(error)[:200]}.") from None
    checked: dict[str, Any] = validate(value, schema, at="body")
    return checked


def _refuse_constant(word: str) -> float:
    raise ValueError(f"JSON has no {word}")


_ENDPOINTS: dict[str, dict[str, Endpoint]] = {}  # by path, then by method


def endpoint(
    method: str, path: str, summary: str, **declaration: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make the decorated function the handler of `method` at `path`. Keywords are the fields of Endpoint."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        methods = _ENDPOINTS.setdefault(path, {})
        if method in methods:
            other = methods[method].handler.__module__
            raise ValueError(f"{method} {path} is declared twice: in {other} and in {function.__module__}.")
        methods[method] = Endpoint(method, path, summary, function, **declaration)
        return function

    return declare


def load_endpoints() -> dict[str, dict[str, Endpoint]]:
    """Every endpoint declared by a file in `routes/`, by path, then by method."""
    from pulseboard.serve import routes

    for module in pkgutil.iter_modules(routes.__path__):
        importlib.import_module(f"{routes.__name__}.{module.name}")
    return _ENDPOINTS
