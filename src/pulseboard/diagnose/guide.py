"""Guides: a page a finding, the same for `explain`, the page's cards and the documents."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from pulseboard.core.errors import PulseboardError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SECTIONS = ("What it sees", "Why it matters", "Look first", "What to try", "When it is fine", "References")


class NoGuide(PulseboardError, KeyError):
    """A page was asked for that nobody has written."""

    __str__ = Exception.__str__


@dataclass(frozen=True, slots=True)
class Guide:
    """One page."""

    slug: str
    title: str
    summary: str  # the sentence below the title
    sections: dict[str, str]
    front: dict[str, Any]  # causes, tapes, role: what stands between the +++ lines

    @property
    def causes(self) -> tuple[str, ...]:
        """Likely causes, the likeliest first."""
        return tuple(self.front.get("causes", ()))

    @property
    def checks(self) -> tuple[str, ...]:
        """The questions of "Look first"."""
        return _items(self.sections.get("Look first", ""))

    @property
    def fixes(self) -> tuple[str, ...]:
        """The steps of "What to try"."""
        return _items(self.sections.get("What to try", ""))

    @property
    def lead(self) -> str:
        """The first sentence of "What it sees": the finding in one line."""
        sees = " ".join(self.sections.get("What it sees", "").split())
        return re.split(r"(?<=[.:]) (?=[A-Z])", sees, maxsplit=1)[0]

    @property
    def text(self) -> str:
        """The page as Markdown, without its front matter."""
        parts = [f"# {self.title}", self.summary]
        parts += [f"## {name}\n{self.sections[name]}" for name in SECTIONS if self.sections.get(name)]
        return "\n\n".join(parts) + "\n"


def guide_slugs() -> list[str]:
    """The slugs that have a page."""
    names = (file.name for file in resources.files("pulseboard.diagnose").joinpath("guides").iterdir())
    return sorted(name.removesuffix(".md") for name in names if name.endswith(".md"))


@lru_cache(maxsize=256)
def guide(slug: str) -> Guide:
    """The page of a finding."""
    file = resources.files("pulseboard.diagnose").joinpath("guides", f"{slug}.md")
    if not re.fullmatch(r"[a-z0-9-]+", slug) or not file.is_file():
        import difflib

        near = difflib.get_close_matches(slug, guide_slugs(), n=3, cutoff=0.4)
        hint = f" Nearest: {', '.join(near)}." if near else ""
        raise NoGuide(f"There is no finding {slug!r}.{hint} `pulseboard explain` lists them all.")
    return parse_guide(file.read_text(encoding="utf-8"), slug=slug)


def parse_guide(text: str, *, slug: str) -> Guide:
    """A page from its file: front matter between +++ lines, a title, a sentence, the sections."""
    _, front, body = text.split("+++", 2)
    title = re.search(r"^# (.+)$", body, re.MULTILINE)
    assert title is not None, f"the guide of {slug} has no title"
    rest = body[title.end() :]
    pieces = re.split(r"^## (.+)$", rest, flags=re.MULTILINE)
    sections = {name.strip(): content.strip() for name, content in zip(pieces[1::2], pieces[2::2], strict=True)}
    return Guide(slug, title.group(1).strip(), pieces[0].strip(), sections, tomllib.loads(front))


@lru_cache(maxsize=256)
def advice(slug: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """(causes, checks, fixes) of a finding; empty for one without a page, as another package's may be."""
    try:
        page = guide(slug)
    except NoGuide:
        return (), (), ()
    return page.causes, page.checks, page.fixes


@lru_cache(maxsize=1024)
def brings(slug: str, metric: str) -> frozenset[str]:
    """The findings that follow from this one in this metric: `brings` of its page, some as "slug@part of the tag"."""
    try:
        page = guide(slug)
    except NoGuide:
        return frozenset()
    said = [entry.partition("@") for entry in page.front.get("brings", ())]
    return frozenset(name for name, _, part in said if part in metric)


def _items(text: str) -> tuple[str, ...]:
    """The entries of a Markdown list, or the lines of plain text."""
    lines = [re.sub(r"^(\d+\.|[-*])\s+", "", line.strip()) for line in text.splitlines() if line.strip()]
    return tuple(lines)
