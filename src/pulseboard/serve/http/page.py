"""The built page: its files, read once. A request names a key of a table, never a path on disk."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from pulseboard.serve.http.errors import NotFound
from pulseboard.serve.http.request import Request
from pulseboard.serve.http.responses import NotModified, Response, accepted_encodings
from pulseboard.serve.security.token_form import POLICY, token_form

PAGE_DIRECTORY = Path(__file__).parents[1] / "page"

_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/vnd.microsoft.icon",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
    ".txt": "text/plain; charset=utf-8",
    ".map": "application/json",
}
_COMPRESSED = {".br": "br", ".gz": "gzip"}
# Vite puts eight characters of the content hash into the names of the files it builds.
_HASHED_NAME = re.compile(r"-[\w-]{8}\.\w+$")
_IMMUTABLE = "public, max-age=31536000, immutable"

_NOT_BUILT = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>
<body><h1>Pulseboard</h1>
<p>The server and its <a href="api/status">API</a> are running, but the page has not been built.</p>
<p>Build it with <code>make page</code>, then reload this page.</p></body></html>
"""


@dataclass(frozen=True, slots=True)
class _File:
    data: bytes
    media_type: str
    etag: str
    immutable: bool
    compressed: dict[str, bytes]  # encoding -> the data, compressed when the page was built


class Page:
    """The page's files by their address below the prefix."""

    def __init__(self, *, title: str, directory: Path = PAGE_DIRECTORY) -> None:
        self._title = escape(title)
        self._directory = directory
        self._files = _read(directory)

    def respond(self, request: Request, address: str) -> Response:
        """The file at an address; the page itself at the empty address."""
        if not address:
            if "index.html" not in self._files:  # it may have been built in the meantime
                self._files = _read(self._directory)
            return self._index()
        file = self._files.get(address)
        if file is None or address == "index.html":
            raise NotFound("No such page.", do="The dashboard is at the address that ends with /.")
        if file.etag == request.headers.get("if-none-match"):
            raise NotModified(file.etag)
        headers = {"etag": file.etag, "cache-control": _IMMUTABLE if file.immutable else "no-cache"}
        accepted = accepted_encodings(request.headers.get("accept-encoding", ""))
        for encoding, data in file.compressed.items():
            if encoding in accepted:
                headers |= {"content-encoding": encoding, "vary": "accept-encoding"}
                return Response(data, file.media_type, headers=headers, compress=False)
        return Response(
            file.data, file.media_type, headers=headers, compress=file.media_type.startswith(("text/", "image/svg"))
        )

    def _index(self) -> Response:
        file = self._files.get("index.html")
        if file is None:
            body = _NOT_BUILT.format(title=self._title)
        else:
            title = f"<title>{self._title}</title>"
            body = re.sub("<title>.*?</title>", lambda _: title, file.data.decode("utf-8", "replace"), count=1)
        return Response(body.encode(), _MEDIA_TYPES[".html"], headers={"cache-control": "no-cache"})

    def token_form(self, *, action: str, wrong: bool) -> Response:
        """The form shown to people without a token, or with a wrong one."""
        body = token_form(title=self._title, action=escape(action), wrong=wrong)
        headers = {
            "cache-control": "no-store",
            "content-security-policy": POLICY,
            # With no referrer at all, browsers send a form's origin as null, which is refused.
            "referrer-policy": "same-origin",
        }
        return Response(body.encode(), _MEDIA_TYPES[".html"], status=401, headers=headers)


def escape(text: str) -> str:
    """Text as HTML. Not `html.escape`: its module loads a table of two thousand character names."""
    for character, entity in {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}.items():
        text = text.replace(character, entity)
    return text


def _read(directory: Path) -> dict[str, _File]:
    if not directory.is_dir():
        return {}
    paths = {path.relative_to(directory).as_posix(): path for path in sorted(directory.rglob("*")) if path.is_file()}
    files = {}
    for address, path in paths.items():
        if path.suffix in _COMPRESSED or path.suffix not in _MEDIA_TYPES:
            continue
        data = path.read_bytes()
        files[address] = _File(
            data,
            _MEDIA_TYPES[path.suffix],
            f'W/"{hashlib.blake2b(data, digest_size=12).hexdigest()}"',
            _HASHED_NAME.search(address) is not None,
            {
                encoding: paths[address + suffix].read_bytes()
                for suffix, encoding in _COMPRESSED.items()
                if address + suffix in paths
            },
        )
    return files
