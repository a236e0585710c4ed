"""Errors, split by what the caller can do about them. Each carries its values as fields."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class PulseboardError(Exception):
    """Something a person can put right; the message says how."""


class LogNotFound(PulseboardError):
    """There is nothing to read at a path the user gave."""

    def __init__(self, path: str, *, why: str = "no such file or directory") -> None:
        self.path = path
        super().__init__(f"Cannot read the log: {why}. Check the path: {path}")


class NameTaken(PulseboardError, ValueError):
    """Two log directories would put their runs below the same name, where one hides the other."""

    def __init__(self, name: str, *, paths: tuple[str, str]) -> None:
        self.name, self.paths = name, paths
        super().__init__(
            f"Two log directories go by the name {name!r}. Give one another name with name:path. "
            f"They are {paths[0]} and {paths[1]}"
        )


class RunNotFound(PulseboardError, KeyError):
    """A run was asked for that the log does not have."""

    def __init__(self, name: str, *, known: Iterable[str]) -> None:
        self.name = name
        self.known = tuple(known)
        super().__init__(f"There is no run {name!r}. {_nearest(name, self.known, kind='run')}")

    __str__ = Exception.__str__  # KeyError would quote the whole sentence


class TagNotFound(PulseboardError, KeyError):
    """A tag was asked for that the run does not have, or not as the kind asked for."""

    def __init__(self, tag: str, *, run: str, kind: str, known: Iterable[str]) -> None:
        self.tag, self.run, self.kind = tag, run, kind
        self.known = tuple(known)
        super().__init__(f"Run {run!r} has no {kind} tag {tag!r}. {_nearest(tag, self.known, kind=f'{kind} tag')}")

    __str__ = Exception.__str__


class MissingPackage(PulseboardError, ImportError):
    """Something optional is asked for that is not installed."""

    def __init__(self, what: str, *, package: str, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(
            f'{what} needs {package}, which is not installed here. Install it with: pip install "pulseboard[{extra}]"'
        )


def _nearest(name: str, known: tuple[str, ...], *, kind: str) -> str:
    if not known:
        return f"It has no {kind}s at all."
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
    if close:
        return "Nearest: " + ", ".join(map(repr, close)) + "."
    some = ", ".join(map(repr, known[:5]))
    return f"Known {kind}s: {some}{', …' if len(known) > 5 else ''}."
