"""Errors, one class for each thing the caller can do about them. Each keeps its values as fields."""

from __future__ import annotations

from collections.abc import Iterable


class PulseboardError(Exception):
    """An error the user can fix. The message says how."""


class LogNotFound(PulseboardError):
    """A path the user gave has nothing to read."""

    def __init__(self, path: str, *, why: str = "no such file or directory") -> None:
        self.path = path
        super().__init__(f"Cannot read the log: {why}. Check the path: {path}")


class NameTaken(PulseboardError, ValueError):
    """Two log directories have the same name, so their runs would hide each other."""

    def __init__(self, name: str, *, paths: tuple[str, str]) -> None:
        self.name, self.paths = name, paths
        super().__init__(
            f"Two log directories are named {name!r}. Rename one with name:path. They are {paths[0]} and {paths[1]}"
        )


class RunNotFound(PulseboardError, KeyError):
    """No run has this name."""

    def __init__(self, name: str, *, known: Iterable[str]) -> None:
        self.name = name
        self.known = tuple(known)
        super().__init__(f"No run named {name!r}. {_nearest(name, self.known, kind='run')}")

    __str__ = Exception.__str__  # KeyError would put the message in quotes


class TagNotFound(PulseboardError, KeyError):
    """The run has no such tag, or not of the requested kind."""

    def __init__(self, tag: str, *, run: str, kind: str, known: Iterable[str]) -> None:
        self.tag, self.run, self.kind = tag, run, kind
        self.known = tuple(known)
        super().__init__(f"Run {run!r} has no {kind} tag {tag!r}. {_nearest(tag, self.known, kind=f'{kind} tag')}")

    __str__ = Exception.__str__


class ValuesNotHere(PulseboardError):
    """Images or audio of a run in a database are in its log, which cannot be read from here."""

    def __init__(self, log: str, *, why: str, advice: str) -> None:
        self.log, self.why, self.advice = log, why, advice
        super().__init__(f"These values are in the log of the run, and {why}. {advice} The log: {log}")


class RemoteError(PulseboardError):
    """A remote directory cannot be listed or read."""

    def __init__(self, url: str, *, why: str, advice: str) -> None:
        self.url, self.why, self.advice = url, why, advice
        super().__init__(f"{why} {advice} {url}")


class MissingPackage(PulseboardError, ImportError):
    """A feature needs an optional package that is not installed."""

    def __init__(self, what: str, *, package: str, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(
            f'{what} needs {package}, which is not installed. Install it with: pip install "pulseboard[{extra}]"'
        )


def _nearest(name: str, known: tuple[str, ...], *, kind: str) -> str:
    if not known:
        return f"There are no {kind}s."
    import difflib

    close = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
    if close:
        return "Nearest: " + ", ".join(map(repr, close)) + "."
    some = ", ".join(map(repr, known[:5]))
    return f"Known {kind}s: {some}{', …' if len(known) > 5 else ''}."
