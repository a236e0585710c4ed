"""Following: told by the file system where it can tell, by looking where it cannot."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pulseboard.files import mounts
from pulseboard.read.discover import at_and_above
from pulseboard.read.log import Changes, Log

if TYPE_CHECKING:
    from watchfiles import Change

# Events can be lost (a full queue): look for oneself now and then all the same.
_SAFETY_LOOK_SECS = 30.0
_GATHER_MILLISECS = 200
_WAKE_MILLISECS = 500
# A look may take this share of one core, no more: past that, looks come less often.
_MOST_LOOKING = 1 / 50


def follow(log: Log, *, every_secs: float, stop: threading.Event) -> Iterator[Changes]:
    """Yield what changes until `stop` is set."""
    # A local file system tells of every change; on a shared one another machine makes them.
    if all(mounts.is_local(root.path) for root in log.roots):
        try:
            yield from _by_events(log, stop=stop)
        except (OSError, RuntimeError):
            pass  # no watches left on this machine, or a root that is gone: looking works everywhere
    yield from _by_looking(log, every_secs=every_secs, stop=stop)


def _by_events(log: Log, *, stop: threading.Event) -> Iterator[Changes]:
    from watchfiles import watch

    if changes := log.poll():
        yield changes
    while not stop.is_set():
        links = log.linked_directories()
        roots = [root.path for root in log.roots]
        targets = targets_of([*roots, *links])
        events = watch(
            *roots,
            *sorted({os.path.realpath(link) for link in links}),
            watch_filter=None,  # a filter would hold back the timeouts too, while other files are busy
            debounce=_GATHER_MILLISECS,
            rust_timeout=_WAKE_MILLISECS,
            yield_on_timeout=True,
            stop_event=stop,
            raise_interrupt=True,
            ignore_permission_denied=True,
        )
        # The watch stands once the first batch is here: nobody told of what came before.
        next_look = 0.0
        for batch in events:
            told = [path for change, path in batch if _matters(change, path)]
            paths = paths_in_log(told, roots=set(roots), targets=targets)
            if paths is None or time.monotonic() >= next_look:
                changes = log.poll()
                next_look = time.monotonic() + _SAFETY_LOOK_SECS
            elif paths:
                changes = log.poll(paths)
            else:
                continue
            if changes:
                yield changes
            if log.linked_directories() != links or not all(map(os.path.exists, roots)):
                break  # new links need new watches, and a root that went took its watch along


def targets_of(paths: Iterable[str]) -> dict[str, list[str]]:
    """Where those of the paths that lead through links lead to, and from which paths."""
    targets: dict[str, list[str]] = {}
    for path in paths:
        if (target := os.path.realpath(path)) != path:
            targets.setdefault(target, []).append(path)
    return targets


def paths_in_log(told: Iterable[str], *, roots: set[str], targets: dict[str, list[str]]) -> list[str] | None:
    """By which paths the log knows what the file system told of; None where that cannot be said.

    What lies behind a link is told by its real path, or by that of one link of several.
    """
    paths: dict[str, None] = {}
    for path in told:
        real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)) if targets else path
        known = [name for name in (path, real) if not roots.isdisjoint(at_and_above(name))]
        known += [link + real.removeprefix(at) for at in at_and_above(real) for link in targets.get(at, ())]
        if not known:
            return None
        paths |= dict.fromkeys(known)
    return list(paths)


def _matters(change: Change, path: str) -> bool:
    """An event file that grew, or anything that came or went: it may be a directory with runs."""
    from watchfiles import Change

    return change is not Change.modified or "tfevents" in os.path.basename(path)


def _by_looking(log: Log, *, every_secs: float, stop: threading.Event) -> Iterator[Changes]:
    while not stop.is_set():
        began = time.perf_counter()
        changes = log.poll()
        took_secs = time.perf_counter() - began
        if changes:
            yield changes
        stop.wait(max(every_secs, took_secs / _MOST_LOOKING))
