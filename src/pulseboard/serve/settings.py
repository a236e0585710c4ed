"""The settings of a server: where it listens, what it shows, and who may use it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from pulseboard.core.errors import PulseboardError
from pulseboard.serve.security.access import BadToken, Guard, Token, is_local, machine_name, read_token_file
from pulseboard.serve.security.kept_token import generate_token, kept_tokens

DEFAULT_PORT = 6006
"""The same as TensorBoard's."""

TOKEN_VARIABLE = "PULSEBOARD_TOKEN"


class BadSetting(PulseboardError, ValueError):
    """A setting of the server is invalid."""


@dataclass(slots=True)
class ServerSettings:
    """Everything about a server except its log directories."""

    host: str = "localhost"
    port: int | None = None  # None: 6006 or the next free port; 0: any free port
    prefix: str = ""
    title: str = "Pulseboard"
    reload_secs: float = 5.0  # 0: read once
    token: str | None = None  # gives full access
    read_token: str | None = None  # gives read-only access
    token_file: str | None = None
    new_token: bool = False  # replace the token that was generated at an earlier start
    allow_hosts: Sequence[str] = ()
    follow_links: bool = False  # also symlinks that lead out of the log directories
    media: Sequence[str] = ()  # directories and URLs with the logs of a database, for images and audio
    certfile: str | None = None
    keyfile: str | None = None
    frame_ancestors: Sequence[str] = ("'self'",)
    user_header: str | None = None  # in which a proxy names the user whom it has logged in
    proxies: Sequence[str] = ()  # addresses of such proxies, apart from this machine

    # The token to print, if one was generated here. Cleared once it was printed; only its hash is kept.
    generated_token: str | None = field(default=None, init=False)
    # Whether this machine itself needs no token: only if the user did not set one.
    open_locally: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.prefix = "/" + self.prefix.strip("/") if self.prefix.strip("/") else ""
        if any(c in self.prefix for c in '?#%;\\"<>') or ".." in self.prefix or not self.prefix.isascii():
            raise BadSetting(f"Invalid path prefix {self.prefix!r}. Use letters, digits, - and _, such as /board")
        if self.keyfile and not self.certfile:
            raise BadSetting("A TLS key was given without a certificate. Add --certfile.")
        if self.proxies and not self.user_header:
            raise BadSetting("A proxy was given, but not the header in which it names users. Add --user_header NAME.")
        for path in (self.certfile, self.keyfile):
            if path is not None and not os.path.isfile(path):
                raise BadSetting(f"TLS file not found. Check the path: {path}")
        if self.certfile:
            _check_certificate(self.certfile, self.keyfile)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_local(self.host)

    @property
    def scheme(self) -> str:
        """https if there is a certificate, otherwise http."""
        return "https" if self.certfile else "http"

    def tokens(self) -> list[Token]:
        """The valid tokens. If the user set none and other machines can reach the server, one is generated and kept."""
        tokens = []
        if full_token := self.token or os.environ.get(TOKEN_VARIABLE):
            tokens.append(Token.of(full_token, role="full"))
        if self.read_token:
            tokens.append(Token.of(self.read_token, role="read"))
        if self.token_file:
            try:
                tokens += read_token_file(self.token_file)
            except OSError as error:
                raise BadToken(f"Cannot read the token file: {error.strerror}. {self.token_file}") from error
        if not tokens and not self.is_local and not self.user_header:
            self.open_locally = True
            tokens = [] if self.new_token else kept_tokens()
            if not tokens:
                self.generated_token = generate_token()
                tokens = [Token.of(self.generated_token, role="full")]
        self.token = self.read_token = None
        return tokens

    def guard(self, *, port: int) -> Guard:
        """The guard of a server that listens on this port."""
        tokens = self.tokens()
        return Guard(
            tokens=tokens,
            open_locally=self.open_locally,
            hosts={*self.allow_hosts, self.host} - {""},
            machine=None if self.is_local else machine_name(),
            # Cookies ignore ports: two servers on one machine would overwrite each other's cookie.
            cookie=f"pulseboard_{port}",
            cookie_path=f"{self.prefix}/",
            frame_ancestors=self.frame_ancestors,
            user_header=self.user_header,
            proxies=self.proxies,
        )


def _check_certificate(certfile: str, keyfile: str | None) -> None:
    """Raise BadSetting if a server could not use them. Without this, it would fail after it has printed its address."""
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certfile, keyfile, password=_no_password)
    except ssl.SSLError as error:
        if "KEY_VALUES_MISMATCH" in str(error):
            raise BadSetting(f"The TLS key does not belong to the certificate. {keyfile or certfile}") from error
        raise BadSetting(
            "The TLS files cannot be used: they must be PEM, the certificate first, and the key in --keyfile or "
            f"in the same file. {certfile}"
        ) from error
    except OSError as error:
        raise BadSetting(f"A TLS file cannot be read: {error.strerror}. {error.filename or certfile}") from error


def _no_password() -> str:
    raise BadSetting("The TLS key is encrypted. Decrypt it first: openssl pkey -in KEY -out NEW-KEY")
