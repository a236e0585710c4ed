"""Patterns: regular expressions from users, over names of runs."""

from __future__ import annotations

import re

from pulseboard.store.query import BadQuery

_LONGEST = 1000


class Pattern:
    """A regular expression. Raises BadQuery where the text is none."""

    def __init__(self, text: str) -> None:
        if len(text) > _LONGEST:
            raise BadQuery(f"The expression has {len(text)} characters; use at most {_LONGEST}.")
        try:
            self._compiled = re.compile(text)
        except (re.error, RecursionError, OverflowError) as error:
            raise BadQuery(f"{text!r} is no regular expression: {error}. Put \\ before signs meant as such.") from error

    def found_in(self, name: str) -> bool:
        """Whether the name has a match anywhere."""
        return self._compiled.search(name) is not None

    def label(self, name: str) -> str | None:
        """What the expression's groups match in the name, or without groups the whole match; None for no match."""
        match = self._compiled.search(name)
        if match is None:
            return None
        return " ".join(part or "" for part in match.groups()) if match.re.groups else match.group()
