"""Curves as text: a sparkline for a table cell, and a chart in braille dots."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pulseboard.core.series import Series

_BARS = "▁▂▃▄▅▆▇█"
_NOT_FINITE = "×"
# A braille cell is two dots wide and four dots high. Each dot is one bit.
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


def sparkline(values: NDArray[np.float64], *, width: int = 24) -> str:
    """The curve in one line: the mean of each segment, or × where a segment has no finite value."""
    import numpy as np

    if not len(values):
        return ""
    segments = np.array_split(values, min(width, len(values)))
    with np.errstate(over="ignore"):  # a segment of the largest floats
        means = [float(np.mean(part[ok])) if (ok := np.isfinite(part)).any() else math.nan for part in segments]
    finite = [mean for mean in means if not math.isnan(mean)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    return "".join(_NOT_FINITE if math.isnan(m) else _BARS[_level(m, low, high, len(_BARS))] for m in means)


def _level(v: float, low: float, high: float, levels: int) -> int:
    if not math.isfinite(high - low) or high <= low:
        return levels // 2 - 1
    return min(levels - 1, int((v - low) / (high - low) * levels))


def chart(series: Series, *, width: int = 72, height: int = 12, log: bool = False) -> str:
    """A line chart over steps. Every point is drawn, so a one-step spike stays visible.

    Columns with values that cannot be drawn (NaN, infinities; with `log`, zero and below) are marked × at the bottom.
    """
    import numpy as np

    steps = series.steps
    with np.errstate(all="ignore"):
        values = np.log10(series.values) if log else series.values
    finite = np.isfinite(values)
    if not finite.any():
        return f"(none of the {len(values)} points can be drawn)" if len(values) else "(no points)"
    low, high = float(values[finite].min()), float(values[finite].max())
    first, last = int(steps.min()), int(steps.max())
    labels = [f"{10**v if log else v:.5g}" for v in (high, (low + high) / 2, low)]
    margin = max(map(len, labels))
    columns, rows = (width - margin - 2) * 2, height * 4

    span = max(1, last - first)
    at = ((steps.astype(np.float64) - first) / span * (columns - 1)).astype(int)
    cells = np.zeros((height, columns // 2), np.uint8)
    before: tuple[int, int] | None = None
    for column in range(columns):
        here = values[(at == column) & finite]
        if not len(here):
            continue
        marks = [rows - 1 - _level(float(v), low, high, rows) for v in (here[0], here.min(), here.max(), here[-1])]
        _line(cells, column, min(marks), max(marks))
        if before is not None:
            _join(cells, before, (column, marks[0]))
        before = (column, marks[3])
    lines = []
    for i, row in enumerate(cells):
        label = {0: labels[0], height // 2: labels[1], height - 1: labels[2]}.get(i, "")
        lines.append(f"{label:>{margin}} ┤" + "".join(chr(0x2800 + int(cell)) for cell in row).rstrip("\u2800"))
    edge = ["─"] * (columns // 2)
    for column in set((at[~finite] // 2).tolist()):
        edge[column] = _NOT_FINITE
    lines.append(" " * margin + " └" + "".join(edge))
    right = str(last)
    lines.append(" " * (margin + 2) + f"{first}".ljust(max(0, columns // 2 - len(right))) + right)
    return "\n".join(lines)


def _line(cells: NDArray[np.uint8], column: int, top: int, bottom: int) -> None:
    for y in range(top, bottom + 1):
        cells[y // 4, column // 2] |= _DOTS[y % 4][column % 2]


def _join(cells: NDArray[np.uint8], a: tuple[int, int], b: tuple[int, int]) -> None:
    """Draw a straight line between two dots."""
    (x0, y0), (x1, y1) = a, b
    steps = max(x1 - x0, abs(y1 - y0), 1)
    for k in range(steps + 1):
        x, y = x0 + round((x1 - x0) * k / steps), y0 + round((y1 - y0) * k / steps)
        _line(cells, x, y, y)
