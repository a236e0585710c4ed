"""The token of servers that other machines can reach: generated once and kept, as a hash, in the user's configuration.

Links and cookies with it keep working after a restart, and nobody can read the token from the file.
"""

from __future__ import annotations

import os
from pathlib import Path

from pulseboard.serve.security.access import BadToken, Token, new_token, read_token_file


def config_directory() -> Path:
    """`$PULSEBOARD_CONFIG_DIR`, or `pulseboard` below the user's configuration directory."""
    if configured := os.environ.get("PULSEBOARD_CONFIG_DIR"):
        return Path(configured)
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return Path(base) / "pulseboard"


def _path() -> Path:
    return config_directory() / "token"


def kept_tokens() -> list[Token]:
    """The token of earlier starts; none if there is none that can be read."""
    try:
        return read_token_file(str(_path()))
    except (OSError, BadToken, UnicodeDecodeError):
        return []


def generate_token() -> str:
    """A new token. Its hash replaces the kept one, if the directory can be written."""
    token = new_token()
    try:
        path = _path()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as stream:
            stream.write(
                "# The token of servers that other machines can reach. Only its hash is here; replace it with\n"
                f"# `pulseboard --bind_all --new_token`.\nfull {Token.of(token, role='full').as_hash}\n"
            )
        os.replace(temporary, path)
    except OSError:
        pass  # it works until the server stops
    return token
