"""Sockets: which port it becomes, and what to tell people about it."""

from __future__ import annotations

import contextlib
import errno
import os
import socket

from pulseboard.core.errors import PulseboardError
from pulseboard.serve.access import is_local
from pulseboard.serve.settings import DEFAULT_PORT, Settings

_TRIES = 100
_BACKLOG = 1024


class CannotListen(PulseboardError, OSError):
    """The address cannot be listened at."""

    __str__ = Exception.__str__


def listen(settings: Settings) -> list[socket.socket]:
    """Sockets at the settings' host, all with one port.

    Raises CannotListen where the port was named and is taken, or the host is not this machine's.
    """
    hosts = _addresses(settings.host)
    if settings.port is not None:
        return _bind(hosts, settings.port)
    for port in range(DEFAULT_PORT, DEFAULT_PORT + _TRIES):
        with contextlib.suppress(_Taken):
            return _bind(hosts, port)
    raise CannotListen(f"Ports {DEFAULT_PORT} to {DEFAULT_PORT + _TRIES - 1} are all taken. Name one with --port PORT.")


class _Taken(CannotListen):
    pass


def _addresses(host: str) -> list[tuple[socket.AddressFamily, str]]:
    if host.lower() == "localhost":
        # Both: which of the two a browser tries first is its own affair.
        return [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
    try:
        found = socket.getaddrinfo(host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise CannotListen(f"There is no host {host!r}: {error.strerror}. Check --host.") from error
    return list(dict.fromkeys((family, str(address[0])) for family, _, _, _, address in found))


def _bind(addresses: list[tuple[socket.AddressFamily, str]], port: int) -> list[socket.socket]:
    made: list[socket.socket] = []
    try:
        for family, address in addresses:
            try:
                made.append(_socket(family, address, port))
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    raise _Taken(f"Port {port} is taken. Name another with --port PORT, or leave it out.") from error
                if made or (len(addresses) > 1 and (family, address) != addresses[-1]):
                    continue  # a machine without IPv6
                raise CannotListen(f"Cannot listen at {address}, port {port}: {error.strerror}.") from error
            port = made[0].getsockname()[1]  # of 0 the first became a number
        return made
    except CannotListen:
        for one in made:
            one.close()
        raise


def _socket(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind((address, port))
        made.listen(_BACKLOG)
        made.setblocking(False)
    except OSError:
        made.close()
        raise
    return made


# ---- what to tell


def address(settings: Settings, port: int) -> str:
    """The address to open in a browser, with the token where one was made."""
    everywhere = settings.host in ("", "0.0.0.0", "::")
    host = socket.gethostname() if everywhere else f"[{settings.host}]" if ":" in settings.host else settings.host
    link = f"{settings.scheme}://{host}:{port}{settings.prefix}/"
    return f"{link}?token={settings.made_token}" if settings.made_token else link


def tunnel(settings: Settings, port: int) -> str | None:
    """The ssh line that brings the server to the user's own machine; None where it is on it, or open to all."""
    said = os.environ.get("SSH_CONNECTION", "").split()
    if len(said) != 4 or not is_local(settings.host):
        return None
    _, _, server, server_port = said
    login = "" if server_port == "22" else f" -p {server_port}"
    return f"ssh -N -L {port}:localhost:{port}{login} {_user()}@{server}"


def is_far() -> bool:
    """Whether whoever looks is on another machine, though the tunnel makes it seem to be this one."""
    return "SSH_CONNECTION" in os.environ


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container without a name for its user
        return "USER"
