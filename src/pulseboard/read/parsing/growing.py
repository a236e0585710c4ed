"""Followers for readers that can read on where they stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

from pulseboard.read.format import Follower, RunData


class Growing(Protocol):
    """A log that was read up to where its file ended."""

    def read_on(self) -> bool:
        """Read what was added since. False if the file must be read from the start, in another object."""


T = TypeVar("T", bound=Growing)


def following(open: Callable[[str], T], runs_of: Callable[[T], Iterator[RunData]]) -> Callable[[], Follower]:
    """What `@reader(follow=...)` takes. `open` reads a file from its start; `runs_of` makes runs of what was read."""
    return lambda: _Follower(open, runs_of)


class _Follower(Generic[T]):
    def __init__(self, open: Callable[[str], T], runs_of: Callable[[T], Iterator[RunData]]) -> None:
        self._open = open
        self._runs_of = runs_of
        self._log: T | None = None

    def update(self, path: str) -> list[RunData]:
        log, self._log = self._log, None  # not kept if reading fails
        if log is None or not log.read_on():
            log = self._open(path)
        runs = list(self._runs_of(log))
        self._log = log
        return runs
