"""Work that can be stopped: a token that the waiting side cancels, and checkpoints where the work notices.

The token belongs to the context (`contextvars`), so functions far below a request need no argument for it. Outside of a
request there is none, and a checkpoint costs a lookup.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Cancelled(Exception):
    """The work was cancelled: nobody waits for its result."""


class Token:
    """Whether a piece of work should continue. Any thread may cancel it."""

    __slots__ = ("cancelled",)

    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        """Stop the work at its next checkpoint."""
        self.cancelled = True

    def run(self, function: Callable[[], T]) -> T:
        """Call a function whose checkpoints obey this token. Raises Cancelled, possibly before it begins."""
        return contextvars.copy_context().run(self._run, function)

    def _run(self, function: Callable[[], T]) -> T:
        _current.set(self)
        checkpoint()
        return function()


_current: contextvars.ContextVar[Token | None] = contextvars.ContextVar("pulseboard_work", default=None)


def checkpoint() -> None:
    """Raise Cancelled if the work of this context was cancelled. Call it in loops that may take long."""
    token = _current.get()
    if token is not None and token.cancelled:
        raise Cancelled


def in_this_context(function: Callable[..., T]) -> Callable[..., T]:
    """A function for another thread, whose checkpoints obey the token of the calling thread."""
    token = _current.get()
    return function if token is None else lambda *arguments: token.run(lambda: function(*arguments))
