"""The built page: its files, read once, and only they. A request names a key of a table, never a path on disk."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from pulseboard.serve.answers import Answer, NotModified, encodings
from pulseboard.serve.errors import NotFound
from pulseboard.serve.request import Request

PAGE_DIRECTORY = Path(__file__).parent / "page"

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
_PACKED = {".br": "br", ".gz": "gzip"}
# Vite puts eight characters of the content's hash into the names of what it builds.
_HASHED_NAME = re.compile(r"-[\w-]{8}\.\w+$")
_FOREVER = "public, max-age=31536000, immutable"

_NOT_BUILT = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>
<body><h1>Pulseboard</h1>
<p>The server runs, and its <a href="api/status">interface</a> answers. The page itself is not built here.</p>
<p>Build it with <code>make page</code>, then load this page again.</p></body></html>
"""
_ASK_FOR_TOKEN = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>
<body><h1>Pulseboard</h1>
<p>This server asks for a token. It was printed, as a part of a link, when the server started.</p>
<form method="get"><label>Token <input type="password" name="token" autocomplete="off"></label>
<button>Open</button></form></body></html>
"""


@dataclass(frozen=True, slots=True)
class _File:
    data: bytes
    media_type: str
    tag: str
    forever: bool
    packed: dict[str, bytes]  # encoding -> the same, compressed when the page was built


class Page:
    """The files of the page by their address below the prefix."""

    def __init__(self, *, title: str, directory: Path = PAGE_DIRECTORY) -> None:
        self._title = escaped(title)
        self._directory = directory
        self._files = _read(directory)

    def answer(self, request: Request, address: str) -> Answer:
        """The file at an address; the page itself at the empty one."""
        if not address:
            if "index.html" not in self._files:  # it may have been built meanwhile
                self._files = _read(self._directory)
            return self._index()
        file = self._files.get(address)
        if file is None or address == "index.html":
            raise NotFound("There is nothing at this address.", do="The page is at the address that ends with /.")
        if file.tag == request.headers.get("if-none-match"):
            raise NotModified(file.tag)
        headers = {"etag": file.tag, "cache-control": _FOREVER if file.forever else "no-cache"}
        takes = encodings(request.headers.get("accept-encoding", ""))
        for encoding, data in file.packed.items():
            if encoding in takes:
                headers |= {"content-encoding": encoding, "vary": "accept-encoding"}
                return Answer(data, file.media_type, headers=headers, compress=False)
        return Answer(
            file.data, file.media_type, headers=headers, compress=file.media_type.startswith(("text/", "image/svg"))
        )

    def _index(self) -> Answer:
        file = self._files.get("index.html")
        if file is None:
            body = _NOT_BUILT.format(title=self._title)
        else:
            title = f"<title>{self._title}</title>"
            body = re.sub("<title>.*?</title>", lambda _: title, file.data.decode("utf-8", "replace"), count=1)
        return Answer(body.encode(), _MEDIA_TYPES[".html"], headers={"cache-control": "no-cache"})

    def token_form(self) -> Answer:
        """What a person sees who has no token yet."""
        body = _ASK_FOR_TOKEN.format(title=self._title)
        return Answer(body.encode(), _MEDIA_TYPES[".html"], status=401, headers={"cache-control": "no-store"})


def escaped(text: str) -> str:
    """Text as HTML. Not `html.escape`, which brings along the names of two thousand signs."""
    for sign, name in {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}.items():
        text = text.replace(sign, name)
    return text


def _read(directory: Path) -> dict[str, _File]:
    if not directory.is_dir():
        return {}
    paths = {path.relative_to(directory).as_posix(): path for path in sorted(directory.rglob("*")) if path.is_file()}
    files = {}
    for address, path in paths.items():
        if path.suffix in _PACKED or path.suffix not in _MEDIA_TYPES:
            continue
        data = path.read_bytes()
        files[address] = _File(
            data,
            _MEDIA_TYPES[path.suffix],
            f'W/"{hashlib.blake2b(data, digest_size=12).hexdigest()}"',
            _HASHED_NAME.search(address) is not None,
            {name: paths[address + end].read_bytes() for end, name in _PACKED.items() if address + end in paths},
        )
    return files
