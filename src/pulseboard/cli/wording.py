"""Numbers for people: sizes, durations, dates and values."""

from __future__ import annotations

import math
import time

from pulseboard.core.plural import plural as plural


def size(n: float) -> str:
    """A number of bytes with three significant digits."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1000:
            return f"{n:.0f} {unit}" if unit == "B" or n >= 100 else f"{n:.1f} {unit}"
        n /= 1024
    return f"{n:.1f} TiB"


def count(n: int) -> str:
    """An integer with thousands separators."""
    return f"{n:,}"


def value(v: float) -> str:
    """A logged value with five significant digits."""
    return f"{v:.5g}"


def duration(secs: float) -> str:
    """A duration in its two largest units."""
    if not math.isfinite(secs) or secs < 0:
        return "-"
    if round(secs) < 60:
        return f"{secs:.0f}s"
    minutes, s = divmod(round(secs), 60)
    hours, m = divmod(minutes, 60)
    days, h = divmod(hours, 24)
    return f"{days}d {h:02}h" if days else f"{hours}h {m:02}m" if hours else f"{m}m {s:02}s"


def date(wall_time: float) -> str:
    """A local date and time, or '-' if there is none or it is out of range."""
    if not wall_time > 0:  # writers without a clock store 0
        return "-"
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(wall_time))
    except (ValueError, OverflowError, OSError):
        return "-"
