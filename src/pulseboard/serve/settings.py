"""What a server is started with: where it listens, what it shows, and who may ask."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from pulseboard.core.errors import PulseboardError
from pulseboard.serve.access import BadToken, Guard, Token, is_local, machine_name, new_token, read_token_file

DEFAULT_PORT = 6006
"""TensorBoard's."""

TOKEN_VARIABLE = "PULSEBOARD_TOKEN"


class BadSetting(PulseboardError, ValueError):
    """An option of the server that cannot be used."""


@dataclass(slots=True)
class Settings:
    """Everything about a server but its log directories."""

    host: str = "localhost"
    port: int | None = None  # None: 6006, or the next that is free; 0: any that is free
    prefix: str = ""
    title: str = "Pulseboard"
    reload_secs: float = 5.0  # 0: read once
    token: str | None = None  # for everything
    read_token: str | None = None  # for looking only
    token_file: str | None = None
    allow_hosts: Sequence[str] = ()
    follow_links: bool = False  # also those that lead out of the log directories
    certfile: str | None = None
    keyfile: str | None = None
    frame_ancestors: Sequence[str] = ("'self'",)

    # The token to print, where one was made here. Known until it has been told, then only its hash.
    made_token: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.prefix = "/" + self.prefix.strip("/") if self.prefix.strip("/") else ""
        if any(c in self.prefix for c in '?#%;\\"<>') or ".." in self.prefix or not self.prefix.isascii():
            raise BadSetting(f"{self.prefix!r} cannot be a path prefix. Use letters, digits, - and _, such as /board")
        if bool(self.certfile) != bool(self.keyfile) and not self.certfile:
            raise BadSetting("A key without a certificate: give --certfile too.")
        for path in (self.certfile, self.keyfile):
            if path is not None and not os.path.isfile(path):
                raise BadSetting(f"There is no such TLS file. Check the path: {path}")

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches the server."""
        return is_local(self.host)

    @property
    def scheme(self) -> str:
        """http, or https where there is a certificate."""
        return "https" if self.certfile else "http"

    def tokens(self) -> list[Token]:
        """The tokens that count; for an address that others reach one is made where the user set none."""
        said = [(self.token or os.environ.get(TOKEN_VARIABLE) or None, "full"), (self.read_token, "read")]
        tokens = [Token.of(token, role="full" if role == "full" else "read") for token, role in said if token]
        if self.token_file:
            try:
                tokens += read_token_file(self.token_file)
            except OSError as error:
                raise BadToken(f"The token file cannot be read: {error.strerror}. {self.token_file}") from error
        if not tokens and not self.is_local:
            self.made_token = new_token()
            tokens = [Token.of(self.made_token, role="full")]
        self.token = self.read_token = None
        return tokens

    def guard(self, *, port: int) -> Guard:
        """The guard of a server that listens at this port."""
        return Guard(
            tokens=self.tokens(),
            hosts={*self.allow_hosts, self.host} - {""},
            machine=None if self.is_local else machine_name(),
            # Browsers do not tell ports apart: two servers on a machine would take each other's cookie.
            cookie=f"pulseboard_{port}",
            cookie_path=f"{self.prefix}/",
            frame_ancestors=self.frame_ancestors,
        )
