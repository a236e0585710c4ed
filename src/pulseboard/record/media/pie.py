"""A pie chart as SVG text, for tools that show pictures but have no pie charts."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping

# Distinguishable with color blindness (Okabe and Ito, "Color Universal Design", 2008).
_COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
_RADIUS = 100


def pie_svg(slices: Mapping[str, float], *, unit: str, title: str) -> str:
    """The slices clockwise from the top, in their order, with a legend. Slices of 0 or less are left out."""
    shown = {name: value for name, value in slices.items() if value > 0 and math.isfinite(value)}
    total = sum(shown.values())
    paths, legend, start = [], [], 0.0
    for number, (name, value) in enumerate(shown.items()):
        color = _COLORS[number % len(_COLORS)]
        label = html.escape(f"{name}: {value:,.1f} {unit} ({value / total:.1%})")
        paths.append(_slice(start, start + value / total, color=color, label=label))
        legend.append(
            f'<rect x="240" y="{44 + 24 * number}" width="14" height="14" fill="{color}"/>'
            f'<text x="262" y="{56 + 24 * number}">{label}</text>'
        )
        start += value / total
    height = max(250, 60 + 24 * len(shown))
    heading = html.escape(f"{title}: {total:,.1f} {unit}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 620 {height}" '
        f'font-family="sans-serif" font-size="14"><text x="10" y="22" font-weight="bold">{heading}</text>'
        f'<g transform="translate(120 140)">{"".join(paths)}</g>{"".join(legend)}</svg>'
    )


def _slice(start: float, end: float, *, color: str, label: str) -> str:
    """The slice from one fraction of a turn to another; 0 and 1 are at the top."""
    tip = f"<title>{label}</title>"
    if end - start > 0.9999:  # an SVG arc that ends where it starts is not drawn
        return f'<circle r="{_RADIUS}" fill="{color}">{tip}</circle>'
    (x0, y0), (x1, y1) = (
        (_RADIUS * math.sin(math.tau * turn), -_RADIUS * math.cos(math.tau * turn)) for turn in (start, end)
    )
    far = int(end - start > 0.5)
    path = f"M0 0L{x0:.2f} {y0:.2f}A{_RADIUS} {_RADIUS} 0 {far} 1 {x1:.2f} {y1:.2f}Z"
    return f'<path d="{path}" fill="{color}" stroke="white">{tip}</path>'
