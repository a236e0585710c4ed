"""A pie chart as SVG text: for places that show pictures but bring no charts."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping

# Told apart by people who see colours differently (Okabe and Ito, "Color Universal Design", 2008).
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
_RADIUS = 100


def pie_svg(slices: Mapping[str, float], *, unit: str, title: str) -> str:
    """The slices, clockwise from the top in their order, with a legend. Those that are not above 0 have no room."""
    shown = {name: value for name, value in slices.items() if value > 0 and math.isfinite(value)}
    total = sum(shown.values())
    drawn, legend, begin = [], [], 0.0
    for number, (name, value) in enumerate(shown.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        words = html.escape(f"{name}: {value:,.1f} {unit} ({value / total:.1%})")
        drawn.append(_slice(begin, begin + value / total, colour=colour, words=words))
        legend.append(
            f'<rect x="240" y="{44 + 24 * number}" width="14" height="14" fill="{colour}"/>'
            f'<text x="262" y="{56 + 24 * number}">{words}</text>'
        )
        begin += value / total
    height = max(250, 60 + 24 * len(shown))
    heading = html.escape(f"{title}: {total:,.1f} {unit}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 620 {height}" '
        f'font-family="sans-serif" font-size="14"><text x="10" y="22" font-weight="bold">{heading}</text>'
        f'<g transform="translate(120 140)">{"".join(drawn)}</g>{"".join(legend)}</svg>'
    )


def _slice(begin: float, end: float, *, colour: str, words: str) -> str:
    """From one part of the turn to another, 0 being the top and 1 the top again."""
    tip = f"<title>{words}</title>"
    if end - begin > 0.9999:  # an arc that ends where it begins would be no arc
        return f'<circle r="{_RADIUS}" fill="{colour}">{tip}</circle>'
    (x0, y0), (x1, y1) = (
        (_RADIUS * math.sin(math.tau * turn), -_RADIUS * math.cos(math.tau * turn)) for turn in (begin, end)
    )
    far = int(end - begin > 0.5)
    path = f"M0 0L{x0:.2f} {y0:.2f}A{_RADIUS} {_RADIUS} 0 {far} 1 {x1:.2f} {y1:.2f}Z"
    return f'<path d="{path}" fill="{colour}" stroke="white">{tip}</path>'
