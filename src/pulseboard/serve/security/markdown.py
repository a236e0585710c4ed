"""Markdown from logs, rendered to HTML that is safe to show."""

from __future__ import annotations

from functools import cache
from typing import Any

# Longer texts are shown as plain text: rendering takes a second, and nobody reads a formatted megabyte.
_MAX_CHARACTERS = 200_000

_TAGS = {
    *("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "del", "s", "code", "pre", "blockquote"),
    *("ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "a", "dl", "dt", "dd", "sub", "sup", "b", "i"),
}
# No style, class or id: a text must not imitate or cover parts of the page. No images: they would call another host.
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "th": {"align"}, "td": {"align"}}
_SCHEMES = {"http", "https", "mailto"}


def to_html(text: str) -> str:
    """Markdown (CommonMark with tables) as HTML without scripts, styles, images or links that run code."""
    import nh3

    if len(text) > _MAX_CHARACTERS:
        return f"<pre>{nh3.clean_text(text)}</pre>"
    try:
        html = _renderer().render(text)
    except (RecursionError, ValueError):
        return f"<pre>{nh3.clean_text(text)}</pre>"
    return nh3.clean(
        html, tags=_TAGS, attributes=_ATTRIBUTES, url_schemes=_SCHEMES, link_rel="noopener noreferrer nofollow"
    )


@cache
def _renderer() -> Any:
    from markdown_it import MarkdownIt

    # HTML in the text is shown as text; the result is sanitized as well.
    return MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(["table", "strikethrough"])
