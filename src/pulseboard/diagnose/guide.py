"""Guides: one page per finding, next to its detector; used by `explain`, the dashboard and the docs."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
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
    """There is no page for this finding."""

    __str__ = Exception.__str__


@dataclass(frozen=True, slots=True)
class Guide:
    """One page."""

    slug: str
    title: str
    summary: str  # the sentence below the title
    sections: dict[str, str]
    front: dict[str, Any]  # causes, tapes, limits: the front matter between the +++ lines

    @property
    def causes(self) -> tuple[str, ...]:
        """Likely causes, most likely first."""
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
        sees = " ".join(self.sections.get("What it sees", "").partition("\n\n")[0].split())
        return re.split(r"(?<=[.:]) (?=[A-Z])", sees, maxsplit=1)[0]

    @property
    def text(self) -> str:
        """The page as Markdown, without its front matter."""
        parts = [f"# {self.title}", self.summary]
        parts += [f"## {name}\n{self.sections[name]}" for name in SECTIONS if self.sections.get(name)]
        return "\n\n".join(parts) + "\n"


@lru_cache(maxsize=1)
def guide_files() -> Mapping[str, Any]:
    """The page of each finding, by slug: `detectors/<family>/<finding>.md`."""
    families = resources.files("pulseboard.diagnose").joinpath("detectors").iterdir()
    pages = [file for family in families if family.is_dir() for file in family.iterdir() if file.name.endswith(".md")]
    return {slug_of(file.name): file for file in sorted(pages, key=lambda file: slug_of(file.name))}


def slug_of(file_name: str) -> str:
    """`loss_spike.md` is the page of `loss-spike`."""
    return file_name.rpartition(".")[0].replace("_", "-")


def guide_slugs() -> list[str]:
    """The slugs of all findings that have a page."""
    return list(guide_files())


@lru_cache(maxsize=1)
def default_limits() -> Mapping[str, Mapping[str, float]]:
    """The limits of every finding, from the `[limits]` of its page. Profiles override them."""
    return {slug: guide(slug).front.get("limits", {}) for slug in guide_slugs()}


@lru_cache(maxsize=256)
def guide(slug: str) -> Guide:
    """The page of a finding."""
    file = guide_files().get(slug)
    if file is None:
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
    """(causes, checks, fixes) of a finding; empty if it has no page, which may be the case for other packages."""
    try:
        page = guide(slug)
    except NoGuide:
        return (), (), ()
    return page.causes, page.checks, page.fixes


@lru_cache(maxsize=1024)
def brings(slug: str, metric: str) -> frozenset[str]:
    """The findings that follow from this one in this metric: `brings` on its page, or "slug@part of the tag"."""
    try:
        page = guide(slug)
    except NoGuide:
        return frozenset()
    entries = [entry.partition("@") for entry in page.front.get("brings", ())]
    return frozenset(name for name, _, part in entries if part in metric)


def _items(text: str) -> tuple[str, ...]:
    """The entries of a Markdown list, or the lines of plain text."""
    lines = [re.sub(r"^(\d+\.|[-*])\s+", "", line.strip()) for line in text.splitlines() if line.strip()]
    return tuple(lines)
