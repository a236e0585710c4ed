"""The SFTP protocol (version 3) over the system's ssh client: the few requests that a mirror needs.

Every packet is drawn as in draft-ietf-secsh-filexfer-02, in network byte order:

    request   uint32 length | byte type | uint32 id | what the type needs
    response  uint32 length | byte type | uint32 id | STATUS, HANDLE, DATA, NAME or ATTRS
    string    uint32 length | bytes

Requests do not wait for each other: a thread matches the responses to them by id.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shlex
import stat
import struct
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoResult
from typing import IO, Any, NamedTuple, cast

from pulseboard.read.remote.store import Traffic

SSH_VARIABLE = "PULSEBOARD_SSH"
"""The ssh command with its options; without it, `ssh`."""

_INIT, _VERSION, _OPEN, _CLOSE, _READ, _OPENDIR, _READDIR, _REALPATH, _STAT = 1, 2, 3, 4, 5, 11, 12, 16, 17
_STATUS, _HANDLE, _DATA, _NAME, _ATTRS = 101, 102, 103, 104, 105
_OK, _EOF, _NO_SUCH_FILE, _PERMISSION_DENIED = 0, 1, 2, 3
_FLAG_READ = 1
_HAS_SIZE, _HAS_OWNER, _HAS_MODE, _HAS_TIMES, _HAS_MORE = 1, 2, 4, 8, 0x80000000
_PROTOCOL = 3
# A server may refuse larger packets; OpenSSH sends at most 256 KiB.
_MAX_PACKET_BYTES = 1 << 20
_TIMEOUT_SECS = 60.0


class Disconnected(Exception):
    """There is no connection, or it ended. The message is what ssh printed."""


class Refused(Exception):
    """The server refused one request."""

    def __init__(self, code: int, message: str) -> None:
        self.missing = code == _NO_SUCH_FILE
        self.denied = code == _PERMISSION_DENIED
        self.at_end = code == _EOF
        super().__init__(message)


class Attributes(NamedTuple):
    """What is known of a file."""

    size: int = 0
    mode: int = 0
    mtime: int = 0

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return stat.S_ISREG(self.mode)

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory."""
        return stat.S_ISDIR(self.mode)

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return stat.S_ISLNK(self.mode)


class Entry(NamedTuple):
    """One name in a directory."""

    name: bytes
    attributes: Attributes


class Sftp:
    """A connection. Several threads may use it at the same time."""

    def __init__(self, arguments: Sequence[str], traffic: Traffic) -> None:
        """Start ssh with these arguments: options and the host. Raises Disconnected, FileNotFoundError without ssh."""
        command = shlex.split(os.environ.get(SSH_VARIABLE, "")) or ["ssh"]
        self._traffic = traffic
        self._messages: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - read when the connection ends
        self._printed_text = ""
        try:
            self._process = subprocess.Popen(
                [*command, *arguments, "sftp"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._messages,
                start_new_session=True,  # Ctrl-C is for this program
            )
        except OSError:
            self._messages.close()
            raise
        self._ids = itertools.count(1)
        self._waiting: dict[int, Future[tuple[int, bytes]]] = {}
        self._lock = threading.Lock()
        self._closed = False
        try:
            self._send(struct.pack(">BI", _INIT, _PROTOCOL))
            kind, _ = self._receive()
        except (OSError, EOFError, ValueError) as error:
            self.close()
            self._end_of_output()
            raise Disconnected(self._printed()) from error
        if kind != _VERSION:
            self.close()
            self._end_of_output()
            raise Disconnected("the server does not speak SFTP")
        threading.Thread(target=self._dispatch, name="pulseboard-sftp", daemon=True).start()

    def close(self) -> None:
        """End the connection and the ssh process."""
        with self._lock:
            self._closed = True
        try:
            cast(IO[bytes], self._process.stdin).close()  # ssh ends when its input does
        except OSError:
            pass
        try:
            self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._printed_text = self._printed_text or self._read_messages()
        self._messages.close()

    # ---- requests

    def real_path(self, path: bytes) -> bytes:
        """The absolute path without links."""
        return _names(self._response(_REALPATH, _string(path), expected=_NAME))[0].name

    def attributes(self, path: bytes) -> Attributes:
        """The attributes of what a path leads to, through links."""
        return _attributes(self._response(_STAT, _string(path), expected=_ATTRS), 0)[0]

    def entries(self, directory: bytes) -> list[Entry]:
        """Everything in a directory, with the attributes of links themselves."""
        handle = self._response(_OPENDIR, _string(directory), expected=_HANDLE)
        found: list[Entry] = []
        try:
            while True:
                found += _names(self._response(_READDIR, handle, expected=_NAME))
        except Refused as error:
            if not error.at_end:
                raise
        finally:
            self._request(_CLOSE, handle)
        return [entry for entry in found if entry.name not in (b".", b"..")]

    def open(self, path: bytes) -> bytes:
        """Open a file for reading, and return its handle."""
        payload = _string(path) + struct.pack(">II", _FLAG_READ, 0)
        return self._response(_OPEN, payload, expected=_HANDLE)

    def close_file(self, handle: bytes) -> None:
        """Close a file. Does not wait for the response."""
        self._request(_CLOSE, handle)

    def request_read(self, handle: bytes, *, start: int, size: int) -> Future[tuple[int, bytes]]:
        """Request a part of a file. `data_of` waits for it."""
        return self._request(_READ, handle + struct.pack(">QI", start, size))

    def data_of(self, future: Future[tuple[int, bytes]]) -> bytes:
        """The requested bytes, which may be fewer; empty at the end of the file."""
        try:
            return _string_at(self._wait(future, expected=_DATA), 0)[0]
        except Refused as error:
            if error.at_end:
                return b""
            raise

    # ---- packets

    def _response(self, kind: int, payload: bytes, *, expected: int) -> bytes:
        return self._wait(self._request(kind, payload), expected=expected)

    def _request(self, kind: int, payload: bytes) -> Future[tuple[int, bytes]]:
        future: Future[tuple[int, bytes]] = Future()
        with self._lock:
            number = next(self._ids) & 0xFFFFFFFF
            if self._closed:
                raise Disconnected("the connection was closed")
            self._waiting[number] = future
            self._traffic.add(requests=1)
            try:
                self._send(struct.pack(">BI", kind, number) + payload)
            except (OSError, ValueError) as error:
                self._waiting.pop(number, None)
                raise Disconnected(self._printed()) from error
        return future

    def _wait(self, future: Future[tuple[int, bytes]], *, expected: int) -> bytes:
        try:
            kind, payload = future.result(_TIMEOUT_SECS)
        except NoResult as error:
            raise Disconnected(f"no response within {_TIMEOUT_SECS:.0f} s") from error
        if kind == _STATUS:
            (code,) = struct.unpack_from(">I", payload)
            message = _string_at(payload, 4)[0] if len(payload) >= 8 else b""
            raise Refused(code, message.decode("utf-8", "replace"))
        if kind != expected:
            raise Disconnected(f"unexpected response of type {kind}")
        return payload if kind != _HANDLE else payload[: 4 + struct.unpack_from(">I", payload)[0]]

    def _dispatch(self) -> None:
        try:
            while True:
                kind, payload = self._receive()
                (number,) = struct.unpack_from(">I", payload)
                with self._lock:
                    future = self._waiting.pop(number, None)
                if future is not None:
                    future.set_result((kind, payload[4:]))
        except (OSError, EOFError, ValueError, struct.error):
            with self._lock:
                self._closed = True
                waiting, self._waiting = list(self._waiting.values()), {}
            error = Disconnected(self._printed())
            for future in waiting:
                future.set_exception(error)
            self._end_of_output()

    def _end_of_output(self) -> None:
        """Only the thread that reads may close the stream: another one would wait for it."""
        cast(IO[bytes], self._process.stdout).close()

    def _send(self, packet: bytes) -> None:
        stream = cast(IO[bytes], self._process.stdin)
        stream.write(struct.pack(">I", len(packet)) + packet)
        stream.flush()

    def _receive(self) -> tuple[int, bytes]:
        (size,) = struct.unpack(">I", self._exactly(4))
        if not 1 <= size <= _MAX_PACKET_BYTES:
            raise ValueError(f"a packet of {size} bytes")
        packet = self._exactly(size)
        return packet[0], packet[1:]

    def _exactly(self, size: int) -> bytes:
        data = cast(IO[bytes], self._process.stdout).read(size)
        if len(data) < size:
            raise EOFError
        return data

    def _printed(self) -> str:
        """What ssh printed before it ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        return self._printed_text or self._read_messages() or "the connection ended"

    def _read_messages(self) -> str:
        try:
            self._messages.seek(0)
            return self._messages.read(20_000).decode("utf-8", "replace").strip()
        except (OSError, ValueError):  # closed
            return ""


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _string_at(payload: bytes, at: int) -> tuple[bytes, int]:
    (size,) = struct.unpack_from(">I", payload, at)
    return payload[at + 4 : at + 4 + size], at + 4 + size


def _names(payload: bytes) -> list[Entry]:
    (count,) = struct.unpack_from(">I", payload)
    at, found = 4, []
    for _ in range(count):
        name, at = _string_at(payload, at)
        _, at = _string_at(payload, at)  # the line that `ls -l` would print
        attributes, at = _attributes(payload, at)
        found.append(Entry(name, attributes))
    return found


def _attributes(payload: bytes, at: int) -> tuple[Attributes, int]:
    (flags,) = struct.unpack_from(">I", payload, at)
    at += 4
    values: dict[str, Any] = {}
    if flags & _HAS_SIZE:
        (values["size"],) = struct.unpack_from(">Q", payload, at)
        at += 8
    if flags & _HAS_OWNER:
        at += 8
    if flags & _HAS_MODE:
        (values["mode"],) = struct.unpack_from(">I", payload, at)
        at += 4
    if flags & _HAS_TIMES:
        _, values["mtime"] = struct.unpack_from(">II", payload, at)
        at += 8
    if flags & _HAS_MORE:
        (count,) = struct.unpack_from(">I", payload, at)
        at += 4
        for _ in range(2 * count):
            _, at = _string_at(payload, at)
    return Attributes(**values), at
