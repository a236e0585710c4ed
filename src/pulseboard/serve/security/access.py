"""Access: who may send requests, from which sites, and what browsers may do with the responses."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from pulseboard.core.errors import PulseboardError
from pulseboard.serve.http.errors import Forbidden, HttpError, TokenRequired
from pulseboard.serve.http.request import Request

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

Role = Literal["read", "full"]

# Guessing sixteen characters over HTTP takes too long, even if a person chose them.
MIN_TOKEN_LENGTH = 16
_MAX_NAME_LENGTH = 100
_HASH_PREFIX = "sha256:"
USER_PREFIX = "user:"
"""In a token file: not a token, but a user whom a proxy has logged in."""
_COOKIE_SECS = 30 * 24 * 3600


class BadToken(PulseboardError, ValueError):
    """A token that the user set is invalid."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token's hash and role, and who uses it. The token itself is not kept."""

    digest: bytes
    role: Role
    name: str | None = None
    project: str = ""
    """It gives access to the runs whose names begin with this."""
    of_user: bool = False
    """It is not a token, but a user whom a proxy has logged in."""

    @classmethod
    def of(cls, token: str, *, role: Role, name: str | None = None, project: str = "") -> Token:
        """From a token, from `sha256:` and its hexadecimal hash, or from `user:` and the name that a proxy gives."""
        if token.startswith(USER_PREFIX):
            return cls(_digest(token), role, name or token.removeprefix(USER_PREFIX), project, of_user=True)
        if token.startswith(_HASH_PREFIX):
            try:
                digest = bytes.fromhex(token.removeprefix(_HASH_PREFIX))
            except ValueError:
                digest = b""
            if len(digest) != 32:
                raise BadToken(
                    f"Invalid token hash. Use {_HASH_PREFIX} and the 64 hexadecimal digits that `sha256sum` prints."
                )
            return cls(digest, role, name, project)
        if len(token) < MIN_TOKEN_LENGTH or not token.isascii() or not token.isprintable() or " " in token:
            raise BadToken(
                f"Invalid token. Use at least {MIN_TOKEN_LENGTH} printable ASCII characters without spaces, or leave "
                "it out to have one generated."
            )
        return cls(_digest(token), role, name, project)

    @property
    def as_hash(self) -> str:
        """The form in which a file may hold it."""
        return _HASH_PREFIX + self.digest.hex()


_EVERYONE = Token(b"", "full")


def new_token() -> str:
    """A random token."""
    import secrets

    return secrets.token_urlsafe(24)


def read_token_file(path: str) -> list[Token]:
    """The tokens in a file: one role and token (or hash) per line, and the name of its user if it has one.

    `read@PREFIX` and `full@PREFIX` give access only to the runs whose names begin with PREFIX. Lines that start with #
    are comments, and so is what follows a # after a space.
    """
    with open(path, encoding="utf-8") as stream:
        lines = [words for line in stream if (words := _without_comment(line.split()))]
    tokens = []
    for parts in lines:
        role, _, project = parts[0].partition("@")
        match [role, *parts[1:]]:
            case [("read" | "full") as role, token, *name]:
                named = " ".join(name)[:_MAX_NAME_LENGTH] or None
                tokens.append(Token.of(token, role=role, name=named, project=project))
            case _:
                raise BadToken(f"Invalid line in the token file. Write `read TOKEN NAME` or `full TOKEN NAME`. {path}")
    if not tokens:
        raise BadToken(f"The token file is empty. Add a line `full TOKEN`. {path}")
    return tokens


def _without_comment(words: list[str]) -> list[str]:
    comment = next((i for i, word in enumerate(words) if word.startswith("#")), len(words))
    return words[:comment]


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "backslashreplace")).digest()


class Guard:
    """Checks every request before anything else does.

    Without tokens, everyone who can reach the server has full access; only for servers that listen on this machine.
    With `open_locally`, requests from this machine itself need no token either.
    """

    def __init__(
        self,
        *,
        tokens: Iterable[Token] = (),
        hosts: Iterable[str] = (),
        machine: str | None = None,
        open_locally: bool = False,
        cookie: str = "pulseboard",
        cookie_path: str = "/",
        frame_ancestors: Iterable[str] = ("'self'",),
        user_header: str | None = None,
        proxies: Iterable[str] = (),
    ) -> None:
        """`user_header` names the user whom a proxy has logged in; only `proxies` and this machine may send it."""
        self.tokens = tuple(tokens)
        self._user_header = user_header.lower() if user_header else None
        self._proxies = frozenset(proxies)
        self._users_listed = any(token.of_user for token in self.tokens)
        self.hosts = {"localhost", *(name.lower().rstrip(".") for name in hosts)}
        # Any host name whose first part is this machine's name, but only if a token is required too: a DNS name that an
        # attacker points at this machine cannot bring one.
        self._machine = machine.lower() if machine and self.tokens else None
        self._open_locally = open_locally
        self.cookie, self.cookie_path = cookie, cookie_path
        self.headers = _security_headers(frame_ancestors)

    # ---- from where

    def check_origin(self, request: Request) -> None:
        """Refuse requests for a foreign host name, or from a page of another site."""
        host = request.headers.get("host", "")
        if not self._is_own_name(_without_port(host)):
            # DNS rebinding: a foreign name that resolves to this machine.
            raise Forbidden(
                f"This server is not known as {_without_port(host)!r}.",
                do="Start it with --allow_host NAME to allow this name.",
            )
        origin = request.headers.get("origin")
        if origin is not None and not self._is_same_site(origin, host):
            raise Forbidden(
                "The request comes from a page of another site.",
                do="Start the server with --allow_host NAME to trust that site.",
            )
        if (
            request.headers.get("sec-fetch-site") == "cross-site"
            and request.headers.get("sec-fetch-mode") != "navigate"
        ):
            raise Forbidden("The request comes from a page of another site.")

    def _is_own_name(self, name: str) -> bool:
        name = name.lower().rstrip(".")
        if name in self.hosts or (self._machine and name.partition(".")[0] == self._machine):
            return True
        return _is_ip_address(name)  # resolved without DNS, so it cannot be rebound

    def _is_same_site(self, origin: str, host: str) -> bool:
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        if parts.scheme not in ("http", "https") or not parts.netloc:
            return False
        # A proxy may pass on another Host than the browser used; then the origin must be an allowed name.
        allowed = self.hosts - {"localhost"}
        return parts.netloc.lower() == host.lower() or _without_port(parts.netloc).lower() in allowed

    # ---- who

    def token_of(self, request: Request) -> Token:
        """What the request may do, and whose it is. Raises TokenRequired if it has no valid token."""
        if not self.tokens and self._user_header is None:
            return _EVERYONE
        for candidate in self._candidates(request):
            if (found := self._known(candidate)) is not None:
                return found
        if (user := self._logged_in(request)) is not None:
            # Users of the proxy may do everything, unless the token file lists them.
            found = self._known(USER_PREFIX + user)
            if found is not None or not self._users_listed:
                return found or Token(b"", "full", user[:_MAX_NAME_LENGTH])
            raise Forbidden(
                f"The user {user[:_MAX_NAME_LENGTH]!r} is not known here.", do="Ask for a line in the token file."
            )
        if self._open_locally and _is_from_this_machine(request):
            return _EVERYONE
        raise TokenRequired(
            "This server requires a token.",
            do="Open the link that the server printed when it started, or add ?token=TOKEN.",
        )

    def _logged_in(self, request: Request) -> str | None:
        """The user whom a trusted proxy has logged in."""
        if self._user_header is None or not (is_local(request.client) or request.client in self._proxies):
            return None
        return request.headers.get(self._user_header) or None

    def _known(self, token: str) -> Token | None:
        """The token as it was set; one with full access if several are the same."""
        digest = _digest(token)
        # Compare with every token in constant time, so that the duration reveals nothing.
        found = [known for known in self.tokens if hmac.compare_digest(known.digest, digest)]
        return max(found, key=lambda known: (known.role == "full", bool(known.name)), default=None)

    def role_of(self, request: Request) -> Role:
        """The role of the request's token. Raises TokenRequired if it has no valid one."""
        return self.token_of(request).role

    def role_of_token(self, token: str) -> Role | None:
        """The role of a token; None if it is not valid."""
        found = None if token.startswith(USER_PREFIX) else self._known(token)
        return found.role if found is not None else None

    def user_of(self, request: Request) -> str | None:
        """The name of the request's token or user; None if it has none, or one without a name."""
        try:
            return self.token_of(request).name
        except HttpError:
            return None

    def _candidates(self, request: Request) -> Iterator[str]:
        """The tokens that the client sends. Who a user is, only a proxy can say."""
        return (token for token in self._sent(request) if not token.startswith(USER_PREFIX))

    def _sent(self, request: Request) -> Iterator[str]:
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
        """The Set-Cookie header that stores a token out of reach of scripts and other sites."""
        return f"{self.cookie}={token}; Path={self.cookie_path}; Max-Age={_COOKIE_SECS}; HttpOnly; SameSite=Strict" + (
            "; Secure" if secure else ""
        )


def _security_headers(frame_ancestors: Iterable[str]) -> dict[str, str]:
    """Headers of every response."""
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


def _without_port(netloc: str) -> str:
    """The host in `localhost:6006` or `[::1]:6006`."""
    if netloc.startswith("["):
        return netloc[1:].partition("]")[0]
    return netloc.rpartition(":")[0] if netloc.count(":") == 1 else netloc


_FORWARDING_HEADERS = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


def _is_from_this_machine(request: Request) -> bool:
    """Whether a browser on this machine sent the request, and not a proxy on this machine for someone else."""
    forwarded = any(name in request.headers for name in _FORWARDING_HEADERS)
    host = _without_port(request.headers.get("host", ""))
    return not forwarded and is_local(request.client) and is_local(host)


@lru_cache(256)
def _is_ip_address(host: str) -> bool:
    return _ip_address(host) is not None


def _ip_address(host: str) -> IPv4Address | IPv6Address | None:
    import ipaddress

    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def machine_name() -> str:
    """The first part of this machine's host name."""
    import socket

    return socket.gethostname().partition(".")[0]


def is_local(host: str) -> bool:
    """Whether only this machine can reach a server that listens on this host."""
    if host.lower() in ("localhost", "127.0.0.1", "::1"):
        return True
    address = _ip_address(host)
    return address is not None and address.is_loopback
