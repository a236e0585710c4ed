"""Directories on other machines (ssh://), through the system's ssh client and SFTP.

The system's client has the user's keys, agent, jump hosts and known hosts. SFTP has byte ranges and needs no shell, so
no name on the other machine can become a command.
"""

from __future__ import annotations

import os
import posixpath
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from pulseboard.core.errors import PulseboardError, RemoteError
from pulseboard.core.note import Note
from pulseboard.read.remote.sftp import Disconnected, Entry, Refused, Sftp
from pulseboard.read.remote.store import FileGone, FileRefused, Listing, RemoteFile, Traffic
from pulseboard.read.remote.url import RemoteUrl

_OPTIONS = (
    *("-o", "BatchMode=yes"),  # an error instead of a question that nobody sees
    *("-o", "ConnectTimeout=15"),
    *("-o", "ServerAliveInterval=10"),
    *("-o", "ServerAliveCountMax=3"),
)
_READ_BYTES = 32 << 10  # the size that every SFTP server accepts
_READS_AHEAD = 32
_LISTING_THREADS = 8
_MAX_FILES = 1_000_000
# Deeper than any log directory: links may form loops that only a limit ends.
_MAX_DEPTH = 40


class SshMissing(PulseboardError):
    """The system has no ssh client."""


class SshStore:
    """A directory or file on another machine. Connects when it is first used, and again after an error."""

    def __init__(self, url: RemoteUrl, *, links_out: bool = True) -> None:
        self.url = url
        self.traffic = Traffic()
        self._links_out = links_out
        self._lock = threading.Lock()
        self._sftp: Sftp | None = None
        self._end: Callable[[], object] = lambda: None  # ends the connection, if there is one
        self._top = os.fsencode(url.path or ".")

    # ---- listing

    def listing(self) -> Listing:
        """Every regular file, also behind links that lead to something that would not be listed otherwise."""
        sftp = self._connected()
        before = self.traffic.requests
        listing = Listing([])
        try:
            try:
                top = sftp.attributes(self._top)
            except Refused as error:
                if not error.missing:
                    raise
            else:
                if top.is_directory:
                    self._list_below(sftp, listing)
                else:
                    listing.files = [RemoteFile("", top.size, top.mtime * 10**9)]
        except Refused as error:
            raise RemoteError(
                str(self.url), why=f"Access was refused ({error}).", advice="Check the permissions."
            ) from error
        except Disconnected as error:
            raise self._explained(error) from error
        listing.pages = 1 + (self.traffic.requests - before) // 1000
        self.traffic.add(listings=1)
        return listing

    def _list_below(self, sftp: Sftp, listing: Listing) -> None:
        real_top = sftp.real_path(self._top)
        seen: set[bytes] = set()  # directories that were reached through links
        level, depth = [b""], 0
        with ThreadPoolExecutor(_LISTING_THREADS) as pool:
            while level and depth < _MAX_DEPTH and len(listing.files) < _MAX_FILES:
                found = list(pool.map(lambda directory: self._entries(sftp, directory, listing), level))
                below: list[bytes] = []
                for directory, entries in zip(level, found, strict=True):
                    for entry in entries:
                        path = posixpath.join(directory, entry.name)
                        attributes = entry.attributes
                        if attributes.is_link:
                            target = self._target(sftp, path, real_top, seen, listing)
                            if target is None:
                                continue
                            attributes = target.attributes
                        if attributes.is_directory:
                            below.append(path)
                        elif attributes.is_file:
                            name = os.fsdecode(path)
                            listing.files.append(RemoteFile(name, attributes.size, attributes.mtime * 10**9))
                level, depth = below, depth + 1

    def _entries(self, sftp: Sftp, directory: bytes, listing: Listing) -> list[Entry]:
        try:
            return sftp.entries(posixpath.join(self._top, directory))
        except Refused as error:
            if not error.missing and directory:
                where = f"{self.url}/{os.fsdecode(directory)}"
                listing.notes.append(Note("unreadable", f"Left out a directory: {error}.", where))
                return []
            if not directory and error.denied:
                raise
            return []

    def _target(self, sftp: Sftp, path: bytes, real_top: bytes, seen: set[bytes], listing: Listing) -> Entry | None:
        """What a link leads to; None if that is gone, unwanted, or listed anyway."""
        full = posixpath.join(self._top, path)
        try:
            attributes, real = sftp.attributes(full), sftp.real_path(full)
        except Refused:
            return None
        if real == real_top or real.startswith(posixpath.join(real_top, b"")) or real in seen:
            return None
        if real_top.startswith(posixpath.join(real, b"")):
            return None  # a link to a directory that contains this one
        if not self._links_out:
            what = "Left out a link that leads out of the log directories."
            listing.notes.append(Note("info", what, f"{self.url}/{os.fsdecode(path)}"))
            return None
        seen.add(real)
        return Entry(path, attributes)

    # ---- reading

    def read(self, file: RemoteFile, *, start: int, end: int) -> Iterator[bytes | memoryview]:
        """Requests are sent ahead, so the distance to the machine does not limit the speed."""
        sftp = self._connected()
        path = posixpath.join(self._top, os.fsencode(file.name)) if file.name else self._top
        try:
            handle = sftp.open(path)
            try:
                yield from self._pieces(sftp, handle, start, end)
            finally:
                sftp.close_file(handle)
        except Refused as error:
            if error.missing:
                raise FileGone from error
            raise FileRefused(str(error) or "refused") from error
        except Disconnected as error:
            raise self._explained(error) from error

    def _pieces(self, sftp: Sftp, handle: bytes, start: int, end: int) -> Iterator[bytes]:
        ahead = deque(
            (at, sftp.request_read(handle, start=at, size=min(_READ_BYTES, end - at)))
            for at in range(start, min(end, start + _READS_AHEAD * _READ_BYTES), _READ_BYTES)
        )
        next_at = start + len(ahead) * _READ_BYTES
        while ahead:
            at, future = ahead.popleft()
            wanted = min(_READ_BYTES, end - at)
            data = sftp.data_of(future)
            while 0 < len(data) < wanted:  # servers may return less than requested
                more = sftp.request_read(handle, start=at + len(data), size=wanted - len(data))
                rest = sftp.data_of(more)
                if not rest:
                    break
                data += rest
            self.traffic.add(bytes_read=len(data))
            if data:
                yield data
            if len(data) < wanted:
                return  # the file has become shorter
            if next_at < end:
                ahead.append((next_at, sftp.request_read(handle, start=next_at, size=min(_READ_BYTES, end - next_at))))
                next_at += _READ_BYTES

    # ---- the connection

    def close(self) -> None:
        """End the connection."""
        with self._lock:
            self._sftp = None
        self._end()

    def _connected(self) -> Sftp:
        with self._lock:
            if self._sftp is None:
                user = ("-l", self.url.user) if self.url.user else ()
                port = ("-p", str(self.url.port)) if self.url.port is not None else ()
                try:
                    sftp = Sftp([*_OPTIONS, *user, *port, "-s", "--", self.url.host.strip("[]")], self.traffic)
                    self._sftp, self._end = sftp, weakref.finalize(self, sftp.close)
                except FileNotFoundError as error:
                    raise SshMissing(
                        f"Reading ssh:// directories needs the ssh client: {error.filename!r} was not found. "
                        "Install OpenSSH, or set PULSEBOARD_SSH to another command."
                    ) from error
                except Disconnected as error:
                    raise _explained(error, self.url) from error
            return self._sftp

    def _explained(self, error: Disconnected) -> RemoteError:
        self.close()
        return _explained(error, self.url)


def _explained(error: Disconnected, url: RemoteUrl) -> RemoteError:
    """What ssh printed, and what to do about it. Its exit code is 255 for everything, so the text has to decide."""
    printed = str(error)
    last = next((line for line in reversed(printed.splitlines()) if line.strip()), printed).strip().rstrip(".")
    login = f"ssh {f'-p {url.port} ' if url.port else ''}{f'{url.user}@' if url.user else ''}{url.host}"
    if "Host key verification failed" in printed or "REMOTE HOST IDENTIFICATION HAS CHANGED" in printed:
        changed = "HAS CHANGED" in printed
        why = "The key of the host has changed." if changed else "The key of the host is not known."
        return RemoteError(str(url), why=why, advice=f"Connect once with `{login}` and check the key.")
    if "Permission denied" in printed:
        return RemoteError(
            str(url),
            why=f"The host refused the login: {last}.",
            advice=f"`{login}` must work without a password: add your key with `ssh-add` or `ssh-copy-id`.",
        )
    if "subsystem" in printed or "SFTP" in printed:
        return RemoteError(str(url), why=f"The host has no SFTP: {last}.", advice="Enable sftp-server in its sshd.")
    return RemoteError(str(url), why=f"Cannot be reached: {last}.", advice=f"Check that `{login}` works.")
