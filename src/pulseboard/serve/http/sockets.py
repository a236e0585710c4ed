"""Listening sockets, and the addresses to print for them."""

from __future__ import annotations

import contextlib
import errno
import os
import socket

from pulseboard.core.errors import PulseboardError
from pulseboard.serve.security.access import is_local
from pulseboard.serve.settings import DEFAULT_PORT, ServerSettings

_PORTS_TRIED = 100
_BACKLOG = 1024


class CannotListen(PulseboardError, OSError):
    """The server cannot listen on this address."""

    __str__ = Exception.__str__


def listen(settings: ServerSettings) -> list[socket.socket]:
    """Listening sockets for every address of the settings' host, all on the same port.

    Raises CannotListen if the given port is in use, or if the host is not an address of this machine.
    """
    addresses = _addresses(settings.host)
    if settings.port is not None:
        return _bind(addresses, settings.port)
    for port in range(DEFAULT_PORT, DEFAULT_PORT + _PORTS_TRIED):
        with contextlib.suppress(_PortInUse):
            return _bind(addresses, port)
    last = DEFAULT_PORT + _PORTS_TRIED - 1
    raise CannotListen(f"Ports {DEFAULT_PORT} to {last} are all in use. Choose one with --port PORT.")


class _PortInUse(CannotListen):
    pass


def _addresses(host: str) -> list[tuple[socket.AddressFamily, str]]:
    if host.lower() == "localhost":
        # Both, because browsers differ in which one they try first.
        return [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
    try:
        found = socket.getaddrinfo(host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise CannotListen(f"Unknown host {host!r}: {error.strerror}. Check --host.") from error
    return list(dict.fromkeys((family, str(address[0])) for family, _, _, _, address in found))


def _bind(addresses: list[tuple[socket.AddressFamily, str]], port: int) -> list[socket.socket]:
    sockets: list[socket.socket] = []
    try:
        for family, address in addresses:
            try:
                sockets.append(_listening_socket(family, address, port))
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    raise _PortInUse(
                        f"Port {port} is in use. Choose another with --port PORT, or leave --port out."
                    ) from error
                if sockets or (len(addresses) > 1 and (family, address) != addresses[-1]):
                    continue  # a machine without IPv6
                raise CannotListen(
                    f"Cannot listen on {address}, port {port}: {error.strerror}. {_advice(error)}"
                ) from error
            port = sockets[0].getsockname()[1]  # port 0 has become a real port
        return sockets
    except CannotListen:
        for bound in sockets:
            bound.close()
        raise


def _advice(error: OSError) -> str:
    if isinstance(error, PermissionError):
        return "Ports below 1024 belong to the system: choose another with --port."
    return (
        "--host is an address of this machine; for all of them, use --bind_all. "
        "Logs on another machine are read with ssh://HOST/PATH."
    )


def _listening_socket(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((address, port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


# ---- addresses for people


def url_of(settings: ServerSettings, port: int) -> str:
    """The URL to open in a browser, with the token if one was generated."""
    all_addresses = settings.host in ("", "0.0.0.0", "::")
    host = socket.gethostname() if all_addresses else f"[{settings.host}]" if ":" in settings.host else settings.host
    url = f"{settings.scheme}://{host}:{port}{settings.prefix}/"
    return f"{url}?token={settings.generated_token}" if settings.generated_token else url


def ssh_tunnel_command(settings: ServerSettings, port: int) -> str | None:
    """The ssh command that forwards the server's port to the user's own machine.

    None if the user is not connected through ssh, or if the server is reachable without a tunnel.
    """
    connection = os.environ.get("SSH_CONNECTION", "").split()
    if len(connection) != 4 or not is_local(settings.host):
        return None
    _, _, server, ssh_port = connection
    port_option = "" if ssh_port == "22" else f" -p {ssh_port}"
    return f"ssh -N -L {port}:localhost:{port}{port_option} {_user()}@{server}"


def over_ssh() -> bool:
    """Whether the user is connected through ssh, so that clients of a tunnel appear to be on this machine."""
    return "SSH_CONNECTION" in os.environ


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container without a user name
        return "USER"
