"""The URLs of remote directories: s3://bucket/path, gs://bucket/path, az://container/path, ssh://user@host:port/path."""

from __future__ import annotations

import glob
import re
from dataclasses import dataclass

from pulseboard.core.errors import PulseboardError

OBJECT_STORES = ("s3", "gs", "az")
SCHEMES = (*OBJECT_STORES, "ssh")

_BUCKET = re.compile(r"[A-Za-z0-9$][A-Za-z0-9._$-]*")
# A host or user that starts with a dash would be taken for an option of ssh.
_SSH_HOST = re.compile(
    r"(?:([A-Za-z0-9_][^@\s/:]*)@)?([A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?"
)


class BadUrl(PulseboardError, ValueError):
    """A URL that cannot be a log directory."""

    def __init__(self, url: str, *, why: str) -> None:
        self.url = url
        super().__init__(f"{why} In: {url}")


@dataclass(frozen=True, slots=True)
class RemoteUrl:
    """A remote directory, or one remote file. `path` has no slash at either end, except that of an absolute path."""

    scheme: str
    host: str  # the bucket, container or machine
    path: str = ""
    user: str = ""
    port: int | None = None

    @property
    def name(self) -> str:
        """The last part: the name of the directory, or of the bucket or machine if there is no path."""
        return self.path.rpartition("/")[2] or self.host.strip("[]")

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        port = f":{self.port}" if self.port is not None else ""
        path = self.path if self.path.startswith("/") else f"/{self.path}" if self.path else ""
        if self.scheme == "ssh" and not self.path.startswith("/"):
            path = f"/~/{self.path}".rstrip("/")
        return f"{self.scheme}://{user}{self.host}{port}{path}"


def parse_url(text: str) -> RemoteUrl:
    """The parts of a URL, taken literally: nothing is percent-decoded. Raises BadUrl."""
    scheme, _, rest = text.partition("://")
    scheme = scheme.lower()
    if scheme not in SCHEMES:
        known = ", ".join(f"{one}://" for one in SCHEMES)
        raise BadUrl(text, why=f"Cannot read {scheme}:// URLs. Supported are {known}.")
    if "\0" in text or ".." in rest.split("/"):
        raise BadUrl(text, why="A URL must not contain '..' or NUL.")
    host, _, path = rest.partition("/")
    if glob.has_magic(path):
        raise BadUrl(text, why="Patterns do not work in URLs. Give the directory, and choose runs with --run.")
    if scheme == "ssh":
        return _parse_ssh(text, host, path)
    if not _BUCKET.fullmatch(host):
        raise BadUrl(text, why=f"{host!r} is not the name of a bucket or container.")
    return RemoteUrl(scheme, host, path.strip("/"))


def _parse_ssh(text: str, host: str, path: str) -> RemoteUrl:
    matched = _SSH_HOST.fullmatch(host)
    if matched is None:
        raise BadUrl(text, why=f"{host!r} is not a host. Write ssh://user@host:port/path.")
    user, machine, port = matched.groups()
    in_home = path == "~" or path.startswith("~/")  # relative paths start in the home directory
    path = path[2:].strip("/") if in_home else "/" + path.strip("/")
    return RemoteUrl("ssh", machine, path, user or "", int(port) if port else None)
