"""Regular expressions from clients, limited in length, memory and time."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import Any

from pulseboard.serve.http.errors import BadRequest

MAX_LENGTH = 1000
# CPU time for searching all names. Ordinary expressions take two microseconds per name.
_BUDGET_SECS = 0.2
# A search holds the GIL for at most this long. Releasing it costs ten times as much as an ordinary search.
_GIL_SECS = 0.002
# Nested counted repetitions multiply: ((a{100}){100}){100} matches a string of a million characters.
_MAX_REPEATS = 100_000

_COUNTED = re.compile(r"\{(\d*)(?:,(\d*))?\}")
# `re` takes a brace without a count literally; in `regex` it means fuzzy matching.
_LITERAL_BRACE = re.compile(r"\\.|\{(?!(?:\d+(?:,\d*)?|,\d+)\})", re.DOTALL)


class SafeRegex:
    """A regular expression with a time limit. Matches anywhere in a name, as TensorBoard does."""

    def __init__(self, text: str, *, budget_secs: float = _BUDGET_SECS) -> None:
        import regex

        if len(text) > MAX_LENGTH:
            raise BadRequest(f"The regular expression is {len(text)} characters long.", do=f"Use at most {MAX_LENGTH}.")
        self._text = text
        self._budget_secs = budget_secs
        repeats = 1
        for match in _COUNTED.finditer(text):
            repeats *= max([1, *(int(n[:9]) for n in match.groups() if n)])
            if repeats > _MAX_REPEATS:
                raise BadRequest(
                    "The counted repetitions of the regular expression multiply to too many.",
                    do=f"Use at most {_MAX_REPEATS}.",
                )
        try:
            # Python's `re` defines the syntax; `regex` has the timeout, and a few more special characters.
            re.compile(text)
            escaped = _LITERAL_BRACE.sub(lambda m: r"\{" if m.group() == "{" else m.group(), text)
            self._compiled: Any = regex.compile(escaped)
        except (re.error, regex.error, ValueError, OverflowError, RecursionError, KeyError) as error:
            raise BadRequest(
                f"Invalid regular expression: {text[:100]!r} ({error}).", do="Escape special characters with \\."
            ) from None

    def search(self, name: str) -> Any:
        """The first match in the name, or None."""
        began = time.thread_time()  # the thread's own time: ordinary expressions must work on a busy machine too
        try:
            return self._search(name)
        except TimeoutError:
            raise BadRequest(
                f"The regular expression {self._text[:100]!r} takes too long.",
                do="Avoid nested repetitions such as (a+)+.",
            ) from None
        finally:
            self._budget_secs -= time.thread_time() - began

    def _search(self, name: str) -> Any:
        if self._budget_secs <= 0:
            raise TimeoutError
        try:
            return self._compiled.search(name, timeout=min(_GIL_SECS, self._budget_secs))
        except TimeoutError:
            return self._compiled.search(name, timeout=self._budget_secs, concurrent=True)

    def filter(self, names: Iterable[str]) -> list[str]:
        """The names that match."""
        return [name for name in names if self.search(name) is not None]

    def group_label(self, name: str) -> str | None:
        """The match's groups joined with spaces, or the whole match if it has no groups; None without a match."""
        match = self.search(name)
        if match is None:
            return None
        return " ".join(part or "" for part in match.groups()) if match.groups() else str(match.group())
