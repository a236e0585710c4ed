"""Access: who may ask, from where, and what a browser may do with the answers."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from pulseboard.core.errors import PulseboardError
from pulseboard.serve.errors import Forbidden, NeedsToken
from pulseboard.serve.request import Request

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

Role = Literal["read", "full"]

# Sixteen characters of a person's choice can be guessed in no time that matters here.
LEAST_TOKEN_LENGTH = 16
_HASHED = "sha256:"
_COOKIE_SECS = 30 * 24 * 3600


class BadToken(PulseboardError, ValueError):
    """A token that the user set cannot be used."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token's hash, and what it allows. The token itself is nowhere kept."""

    digest: bytes
    role: Role

    @classmethod
    def of(cls, token: str, *, role: Role) -> Token:
        """From a token, or from `sha256:` and the hexadecimal hash of one."""
        if token.startswith(_HASHED):
            try:
                digest = bytes.fromhex(token.removeprefix(_HASHED))
            except ValueError:
                digest = b""
            if len(digest) != 32:
                raise BadToken(f"A hashed token is {_HASHED} and 64 hexadecimal digits, as `sha256sum` prints them.")
            return cls(digest, role)
        if len(token) < LEAST_TOKEN_LENGTH or not token.isascii() or not token.isprintable() or " " in token:
            raise BadToken(
                f"A token has at least {LEAST_TOKEN_LENGTH} letters, digits or signs of ASCII, and no spaces. "
                "Leave it out, and one is made."
            )
        return cls(_digest(token), role)


def new_token() -> str:
    """A token nobody can guess."""
    import secrets

    return secrets.token_urlsafe(24)


def read_token_file(path: str) -> list[Token]:
    """The tokens of a file: a role and a token (or its hash) a line; lines with # in front are left out."""
    with open(path, encoding="utf-8") as stream:
        lines = [line.split() for line in stream if line.strip() and not line.lstrip().startswith("#")]
    tokens = []
    for parts in lines:
        match parts:
            case [("read" | "full") as role, token]:
                tokens.append(Token.of(token, role=role))
            case _:
                raise BadToken(f"A line of the token file is not `read TOKEN` or `full TOKEN`. {path}")
    if not tokens:
        raise BadToken(f"The token file holds no token. Write `full TOKEN` into it: {path}")
    return tokens


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "backslashreplace")).digest()


class Guard:
    """Looks at every request before anything else does.

    Without tokens everybody who reaches the server may do everything: only for a server that nobody but the
    machine's own users reaches.
    """

    def __init__(
        self,
        *,
        tokens: Iterable[Token] = (),
        hosts: Iterable[str] = (),
        machine: str | None = None,
        cookie: str = "pulseboard",
        cookie_path: str = "/",
        frame_ancestors: Iterable[str] = ("'self'",),
    ) -> None:
        self.tokens = tuple(tokens)
        self.hosts = {"localhost", *(name.lower().rstrip(".") for name in hosts)}
        # Any name whose first part is this machine's: only where a token is asked for as well, which a name that
        # somebody else leads here cannot bring along.
        self._machine = machine.lower() if machine and self.tokens else None
        self.cookie, self.cookie_path = cookie, cookie_path
        self.headers = _headers(frame_ancestors)

    # ---- from where

    def check_place(self, request: Request) -> None:
        """Refuse requests that come by a name that is not ours, or from a page that is not ours."""
        host = request.headers.get("host", "")
        if not self._is_ours(_host_of(host)):
            # DNS rebinding: a name of somebody else's that leads to this machine.
            raise Forbidden(
                f"This server does not go by the name {_host_of(host)!r}.",
                do="Start it with --allow_host NAME if it should.",
            )
        origin = request.headers.get("origin")
        if origin is not None and not self._is_same(origin, host):
            raise Forbidden(
                "The request comes from a page of another site.",
                do="Start the server with --allow_host NAME to trust it.",
            )
        if (
            request.headers.get("sec-fetch-site") == "cross-site"
            and request.headers.get("sec-fetch-mode") != "navigate"
        ):
            raise Forbidden("The request comes from a page of another site.")

    def _is_ours(self, name: str) -> bool:
        name = name.lower().rstrip(".")
        if name in self.hosts or (self._machine and name.partition(".")[0] == self._machine):
            return True
        return _is_number(name)  # no DNS is asked for a number, so none can lie

    def _is_same(self, origin: str, host: str) -> bool:
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        if parts.scheme not in ("http", "https") or not parts.netloc:
            return False
        # A proxy may hand on another Host than the browser saw; then the name must be one that was allowed.
        return parts.netloc.lower() == host.lower() or (_host_of(parts.netloc).lower() in self.hosts - {"localhost"})

    # ---- who

    def role_of(self, request: Request) -> Role:
        """What the request's token allows; NeedsToken where it has none that counts."""
        if not self.tokens:
            return "full"
        for given in self._given(request):
            digest = _digest(given)
            # Every token is compared, in constant time: how long it takes tells nothing.
            roles = [token.role for token in self.tokens if hmac.compare_digest(token.digest, digest)]
            if roles:
                return "full" if "full" in roles else "read"
        raise NeedsToken(
            "This server asks for a token.", do="Open the link that it printed when it started, or add ?token=TOKEN."
        )

    def _given(self, request: Request) -> Iterable[str]:
        scheme, _, value = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and value:
            yield value.strip()
        if "token=" in request.query_string:
            yield from request.query().get("token", [])
        for part in request.headers.get("cookie", "").split(";"):
            name, _, value = part.strip().partition("=")
            if name == self.cookie:
                yield value

    def cookie_for(self, token: str, *, secure: bool) -> str:
        """The header that lets the browser keep a token, out of the reach of scripts and of other sites."""
        return f"{self.cookie}={token}; Path={self.cookie_path}; Max-Age={_COOKIE_SECS}; HttpOnly; SameSite=Strict" + (
            "; Secure" if secure else ""
        )


def _headers(frame_ancestors: Iterable[str]) -> dict[str, str]:
    """What every answer says to the browser."""
    policy = (
        "default-src 'self'; img-src 'self' blob:; media-src 'self' blob:; object-src 'none'; base-uri 'self'; "
        f"form-action 'self'; frame-ancestors {' '.join(frame_ancestors)}"
    )
    return {
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
    }


def _host_of(netloc: str) -> str:
    """A name without its port: `localhost:6006`, `[::1]:6006`."""
    if netloc.startswith("["):
        return netloc[1:].partition("]")[0]
    return netloc.rpartition(":")[0] if netloc.count(":") == 1 else netloc


@lru_cache(256)
def _is_number(host: str) -> bool:
    """Whether it is an IP address."""
    return _number(host) is not None


def _number(host: str) -> IPv4Address | IPv6Address | None:
    import ipaddress

    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def machine_name() -> str:
    """The first part of this machine's name."""
    import socket

    return socket.gethostname().partition(".")[0]


def is_local(host: str) -> bool:
    """Whether only this machine reaches a server that listens there."""
    if host.lower() in ("localhost", "127.0.0.1", "::1"):
        return True
    number = _number(host)
    return number is not None and number.is_loopback
