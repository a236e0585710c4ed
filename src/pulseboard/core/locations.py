"""Where things are: URLs of remote directories, and which local directories mirror them."""

from __future__ import annotations

import os
import re

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")

_urls: dict[str, str] = {}  # by the local copy of a remote directory


def is_url(text: str) -> bool:
    """Whether a path that a user gave is a URL."""
    return _URL.match(text) is not None


def register_mirror(path: str, url: str) -> None:
    """Record that what is at or below a local path is a copy of what is at a URL."""
    _urls[path] = url


def location_of(path: str) -> str:
    """What to show a user instead of a local path: the URL that it is a copy of. Other paths stay as they are."""
    for top, url in list(_urls.items()):
        if path == top or path.startswith(top + os.sep):
            return url + path[len(top) :].replace(os.sep, "/")
    return path
