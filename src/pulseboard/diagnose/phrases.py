"""Numbers as people write them, for summaries of findings."""

from __future__ import annotations

import math


def number(value: float) -> str:
    """Up to four significant digits: 0.3214, 2.31, 1.2e-05, 345,678."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinity"
    if value != 0 and (abs(value) < 1e-3 or abs(value) >= 1e6):
        return f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"


def percent(share: float) -> str:
    """A share in percent: 3.2 %, 45 %, more than 1000 %."""
    value = 100 * share
    if math.isinf(value) or value > 1000:
        return "more than 1000 %"
    return f"{value:.0f} %" if abs(value) >= 10 else f"{value:.2g} %"


def times(ratio: float) -> str:
    """A ratio: 2.3x, 45x, more than 1000x."""
    if math.isinf(ratio) or ratio > 1000:
        return "more than 1000x"
    return f"{ratio:.0f}x" if ratio >= 10 else f"{ratio:.2g}x"


def duration(secs: float) -> str:
    """A time in one unit: 4.5 s, 12 min, 3.5 h, 20 days."""
    units = (("days", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0))
    unit, size = next((unit for unit in units if secs >= 2 * unit[1]), units[-1])
    amount = secs / size
    return f"{amount:,.0f} {unit}" if amount >= 10 else f"{amount:.2g} {unit}"


def count(n: int, one: str, many: str = "") -> str:
    """`1 evaluation`, `5 evaluations`."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def digits_of(value: float) -> int:
    """How many digits a value was logged with: 3 for 0.752."""
    return len(f"{abs(value):.9g}".replace(".", "").strip("0"))
