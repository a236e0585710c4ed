"""Following remote directories: how often each one is listed, and what happens while it cannot be reached."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable

from pulseboard.core.errors import PulseboardError
from pulseboard.read.remote.mirror import Mirror

_log = logging.getLogger("pulseboard.read")

IDLE_SECS = 60.0
"""While nothing changes, a directory is listed this often."""


def next_interval(previous: float, *, every_secs: float, changed: bool, listing_pages: int) -> float:
    """How long to wait after a listing: `every_secs` after a change, then twice as long each time, up to a minute.

    A listing of many pages waits longer, so that there is one request per `every_secs` or fewer.
    """
    shortest = min(every_secs * max(1, listing_pages), max(every_secs, IDLE_SECS))
    if changed:
        return shortest
    return min(max(2 * previous, shortest), max(every_secs, IDLE_SECS))


def keep_up(mirrors: Iterable[Mirror], *, every_secs: float, stop: threading.Event) -> None:
    """Update each mirror on a thread of its own until `stop` is set. Returns at once."""
    for mirror in mirrors:
        threading.Thread(target=_follow, args=(mirror, every_secs, stop), name="pulseboard-remote", daemon=True).start()


def _follow(mirror: Mirror, every_secs: float, stop: threading.Event) -> None:
    interval, unreachable = every_secs, False
    while not stop.wait(interval):
        changed = False
        try:
            changed = mirror.update()
            if unreachable:
                _log.warning("Reachable again: %s", mirror.url)
            unreachable = False
        except PulseboardError as error:
            if not unreachable:
                _log.warning("%s  What was read before stays; trying again at least once a minute.", error)
            unreachable = True
        except Exception:
            _log.exception("Updating the copy of a remote directory failed: %s", mirror.url)
        interval = next_interval(interval, every_secs=every_secs, changed=changed, listing_pages=mirror.listing_pages)
