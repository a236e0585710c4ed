"""Following: waits for file-system events where they work, and polls where they do not."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pulseboard.core.changes import Changes
from pulseboard.read.discovery import candidates
from pulseboard.read.discovery.log_directory import path_and_parents
from pulseboard.read.discovery.scan import Identity, stat_file
from pulseboard.rundir import mounts

if TYPE_CHECKING:
    from watchfiles import Change

    from pulseboard.read.runs import Runs

# Events can get lost when the system's queue is full: check everything now and then.
_FULL_POLL_SECS = 30.0
# How often to poll all log directories, and to look for one that does not exist, while there is one.
_MISSING_SECS = 1.0
_LOOK_SECS = 0.1
_DEBOUNCE_MILLISECS = 200
_WAKE_MILLISECS = 500
# Polling may take this fraction of one core. If it takes longer, polls become less frequent.
_MAX_POLL_FRAC = 1 / 50


def follow(runs: Runs, *, every_secs: float, stop: threading.Event) -> Iterator[Changes]:
    """Yield what changes until `stop` is set."""
    paths = [directory.path for directory in runs.log_directories]
    while not stop.is_set():
        if not all(map(os.path.exists, paths)):
            # Not created yet, or removed: nothing can be watched.
            if changes := runs.poll():
                yield changes
            _wait_for(paths, secs=min(every_secs, _MISSING_SECS), stop=stop)
            continue
        # A local file system reports every change. On a shared one, changes by other machines are not reported.
        if not all(map(mounts.is_local, paths)):
            break
        before = _identities(paths)
        try:
            yield from _by_events(runs, stop=stop)
        except (OSError, RuntimeError):
            # A directory that has another identity was removed before it was watched, and is back.
            if all(map(os.path.exists, paths)) and _identities(paths) == before:
                break  # no watches left on this machine: polling works everywhere
    yield from _by_polling(runs, every_secs=every_secs, stop=stop)


def _wait_for(paths: list[str], *, secs: float, stop: threading.Event) -> None:
    """Wait this long, or until all paths exist. Looking for them costs less than a poll of other log directories."""
    end = time.monotonic() + secs
    while not all(map(os.path.exists, paths)) and (left := end - time.monotonic()) > 0:
        if stop.wait(min(left, _LOOK_SECS)):
            return


def _by_events(runs: Runs, *, stop: threading.Event) -> Iterator[Changes]:
    from watchfiles import watch

    while not stop.is_set():
        # Before the watch, which takes half a second to begin: a directory may have come in place of another one.
        if changes := runs.poll():
            yield changes
        links = runs.linked_directories()
        log_directories = [directory.path for directory in runs.log_directories]
        link_targets = link_targets_of([*log_directories, *links])
        events = watch(
            *log_directories,
            *sorted({os.path.realpath(link) for link in links}),
            watch_filter=None,  # a filter would suppress timeouts too, as long as other files are busy
            debounce=_DEBOUNCE_MILLISECS,
            rust_timeout=_WAKE_MILLISECS,
            yield_on_timeout=True,
            stop_event=stop,
            raise_interrupt=True,
            ignore_permission_denied=True,
        )
        watched = _identities(log_directories)
        # The watch is active once the first batch arrives. Nothing reported what changed before that: poll then.
        next_full_poll = 0.0
        for batch in events:
            if _identities(log_directories) != watched or _reports_removal(batch, log_directories):
                break  # removed and created again, or another file system was mounted: the watch is on the old one
            reported = [path for change, path in batch if _is_relevant(change, path)]
            paths = paths_below(reported, log_directories=set(log_directories), link_targets=link_targets)
            if paths is None or time.monotonic() >= next_full_poll:
                changes = runs.poll()
                next_full_poll = time.monotonic() + _FULL_POLL_SECS
            elif paths:
                changes = runs.poll(paths)
            else:
                continue
            if changes:
                yield changes
            if runs.linked_directories() != links or not all(map(os.path.exists, log_directories)):
                break  # new links need new watches, and a directory that was removed took its watch along


def _identities(paths: Iterable[str]) -> list[Identity | None]:
    """What is at each path now; None if nothing is."""
    return [None if (found := stat_file(path)) is None else found.identity for path in paths]


def _reports_removal(batch: Iterable[tuple[Change, str]], paths: list[str]) -> bool:
    """Whether one of the paths itself was removed. What was created in its place may have got the same inode."""
    from watchfiles import Change

    return any(change is Change.deleted and path in paths for change, path in batch)


def link_targets_of(paths: Iterable[str]) -> dict[str, list[str]]:
    """For the paths that lead through links: real path -> the paths that lead there."""
    targets: dict[str, list[str]] = {}
    for path in paths:
        if (target := os.path.realpath(path)) != path:
            targets.setdefault(target, []).append(path)
    return targets


def paths_below(
    reported: Iterable[str], *, log_directories: set[str], link_targets: dict[str, list[str]]
) -> list[str] | None:
    """The reported paths as paths below the log directories; None if one of them cannot be mapped.

    What is behind a link is reported by its real path, or by the path of one of several links to it.
    """
    paths: dict[str, None] = {}
    for path in reported:
        real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)) if link_targets else path
        below = [name for name in (path, real) if not log_directories.isdisjoint(path_and_parents(name))]
        below += [
            link + real.removeprefix(target)
            for target in path_and_parents(real)
            for link in link_targets.get(target, ())
        ]
        if not below:
            return None
        paths |= dict.fromkeys(below)
    return list(paths)


def _is_relevant(change: Change, path: str) -> bool:
    """A log that grew, or anything that was added or removed: it may be a directory with runs."""
    from watchfiles import Change

    if change is not Change.modified:
        return True
    directory, name = os.path.split(path)
    return "tfevents" in name or candidates.is_candidate(name, directory=directory, top="")


def _by_polling(runs: Runs, *, every_secs: float, stop: threading.Event) -> Iterator[Changes]:
    while not stop.is_set():
        began = time.perf_counter()
        changes = runs.poll()
        took_secs = time.perf_counter() - began
        if changes:
            yield changes
        stop.wait(max(every_secs, took_secs / _MAX_POLL_FRAC))
