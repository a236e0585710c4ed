"""Markdown from logs, rendered to HTML that is safe to show, within limits of time and memory."""

from __future__ import annotations

import threading
from collections.abc import MutableMapping
from functools import cache
from typing import Any

from pulseboard.core.cancellation import checkpoint

# Longer texts are shown as plain text: rendering takes a second, and nobody reads a formatted megabyte.
_MAX_CHARACTERS = 200_000
# How often the renderer may look at a place in a text. Ordinary ones take one look in four characters; those that make
# it look at the same places again and again are shown as plain text too.
_LOOKS_PER_CHARACTER, _MIN_LOOKS, _MAX_LOOKS = 4, 2_000, 100_000
_LOOKS_PER_CHECKPOINT = 256
_MAX_CACHED_CHARACTERS = 16_000_000

_TAGS = {
    *("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "del", "s", "code", "pre", "blockquote"),
    *("ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "a", "dl", "dt", "dd", "sub", "sup", "b", "i"),
}
# No style, class or id: a text must not imitate or cover parts of the page. No images: they would call another host.
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "th": {"align"}, "td": {"align"}}
_SCHEMES = {"http", "https", "mailto"}


class _TooComplex(ValueError):
    """Rendering a text takes too long."""


def to_html(text: str) -> str:
    """Markdown (CommonMark with tables) as HTML without scripts, styles, images or links that run code.

    A text that takes too long to render is shown as it is. Raises Cancelled.
    """
    known = _cache.get(text)
    if known is None:
        checkpoint()
        known = _rendered(text)
        _cache.put(text, known)
    return known


def as_plain_html(text: str) -> str:
    """A text as HTML that shows it as it is."""
    import nh3

    return f"<pre>{nh3.clean_text(text)}</pre>"


def _rendered(text: str) -> str:
    import nh3

    if len(text) > _MAX_CHARACTERS:
        return as_plain_html(text)
    looks = min(max(_MIN_LOOKS, _LOOKS_PER_CHARACTER * len(text)), _MAX_LOOKS)
    try:
        html = _renderer().render(text, {"looks": looks})
    except (RecursionError, ValueError):
        return as_plain_html(text)
    return nh3.clean(
        html, tags=_TAGS, attributes=_ATTRIBUTES, url_schemes=_SCHEMES, link_rel="noopener noreferrer nofollow"
    )


@cache
def _renderer() -> Any:
    from markdown_it import MarkdownIt

    # HTML in the text is shown as text; the result is sanitized as well.
    renderer = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(["table", "strikethrough"])
    # First in both lists of rules, so that they are called wherever the renderer looks. They match nothing.
    renderer.block.ruler.before("table", "count", lambda state, first, last, silent: _count(state.env))
    renderer.inline.ruler.before("text", "count", lambda state, silent: _count(state.env))
    return renderer


def _count(env: MutableMapping[str, Any]) -> bool:
    env["looks"] -= 1
    if env["looks"] < 0:
        raise _TooComplex
    if not env["looks"] % _LOOKS_PER_CHECKPOINT:
        checkpoint()
    return False


class _Cache:
    """The HTML of the texts that were used last, up to a number of characters. Thread-safe."""

    def __init__(self) -> None:
        self._html: dict[str, str] = {}
        self._characters = 0
        self._lock = threading.Lock()

    def get(self, text: str) -> str | None:
        with self._lock:
            html = self._html.pop(text, None)
            if html is not None:
                self._html[text] = html  # at the end: the least recently used goes first
            return html

    def put(self, text: str, html: str) -> None:
        with self._lock:
            if text in self._html:
                return
            self._html[text] = html
            self._characters += len(text) + len(html)
            while self._characters > _MAX_CACHED_CHARACTERS:
                oldest = next(iter(self._html))
                self._characters -= len(oldest) + len(self._html.pop(oldest))


_cache = _Cache()
