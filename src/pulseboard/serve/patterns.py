"""Regular expressions of strangers: bounded in length, in memory and in time, whatever they are."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import Any

from pulseboard.serve.errors import BadRequest

MOST_LENGTH = 1000
# The whole search over all names. Ordinary patterns take two microseconds a name.
_BUDGET_SECS = 0.2
# For so long a search may keep other threads waiting; letting them go on costs ten times an ordinary search.
_ALONE_SECS = 0.002
# Counted repetitions inside each other multiply: ((a{100}){100}){100} is a string of a million.
_MOST_COUNTED = 100_000

_COUNTED = re.compile(r"\{(\d*)(?:,(\d*))?\}")
# In `re` a brace that counts nothing is itself; in `regex` it means that the match may be inexact.
_PLAIN_BRACE = re.compile(r"\\.|\{(?!(?:\d+(?:,\d*)?|,\d+)\})", re.DOTALL)


class Pattern:
    """A compiled expression that gives up when its time is over. Searches anywhere in a name, as TensorBoard does."""

    def __init__(self, text: str, *, budget_secs: float = _BUDGET_SECS) -> None:
        import regex

        if len(text) > MOST_LENGTH:
            raise BadRequest(
                f"The regular expression is {len(text)} characters long.", do=f"Use at most {MOST_LENGTH}."
            )
        self._text = text
        self._left_secs = budget_secs
        counted = 1
        for found in _COUNTED.finditer(text):
            counted *= max([1, *(int(n[:9]) for n in found.groups() if n)])
            if counted > _MOST_COUNTED:
                raise BadRequest("The regular expression counts too far.", do=f"Repeat at most {_MOST_COUNTED} times.")
        try:
            # Python's own first: its syntax counts. The other has a clock, and a few signs more.
            re.compile(text)
            plain = _PLAIN_BRACE.sub(lambda m: r"\{" if m.group() == "{" else m.group(), text)
            self._compiled: Any = regex.compile(plain)
        except (re.error, regex.error, ValueError, OverflowError, RecursionError, KeyError) as error:
            raise BadRequest(
                f"{text[:100]!r} is no regular expression: {error}.", do="Escape special characters with \\."
            ) from None

    def search(self, name: str) -> Any:
        """The first match in the name, or None."""
        began = time.thread_time()  # its own work: a busy machine must not refuse ordinary patterns
        try:
            return self._search(name)
        except TimeoutError:
            raise BadRequest(
                f"The regular expression {self._text[:100]!r} takes too long.",
                do="Avoid one repetition inside another, such as (a+)+.",
            ) from None
        finally:
            self._left_secs -= time.thread_time() - began

    def _search(self, name: str) -> Any:
        if self._left_secs <= 0:
            raise TimeoutError
        try:
            return self._compiled.search(name, timeout=min(_ALONE_SECS, self._left_secs))
        except TimeoutError:
            return self._compiled.search(name, timeout=self._left_secs, concurrent=True)

    def filter(self, names: Iterable[str]) -> list[str]:
        """The names that match."""
        return [name for name in names if self.search(name) is not None]

    def group(self, name: str) -> str | None:
        """What a name is grouped by: the match's groups, joined by a space, or the match; None where there is none."""
        found = self.search(name)
        if found is None:
            return None
        return " ".join(part or "" for part in found.groups()) if found.groups() else str(found.group())
