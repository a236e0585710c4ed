"""Runs as HTML for notebooks: a table with a sparkline per tag, or a line per run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pulseboard.read.run import Run

_MAX_ROWS = 50
_WIDTH, _HEIGHT = 120, 24


def html_of_run(run: Run) -> str:
    """Each scalar tag with its last, least and greatest value, steps, and curve."""
    stats = list(run.stats())
    rows = [
        (s.tag, f"{s.count:,}", f"{s.last:.5g}", f"{s.min:.5g}", f"{s.max:.5g}", f"{s.first_step:,}–{s.max_step:,}")
        for s in stats[:_MAX_ROWS]
    ]
    curves = [_sparkline(run.series(s.tag).values) for s in stats[:_MAX_ROWS]]
    head = f"<b>{escape(run.name)}</b> · {escape(run.location)}"
    return head + _table(("scalar", "points", "last", "min", "max", "steps", "curve"), rows, curves, len(stats))


def html_of_runs(runs: Iterable[Run], where: str) -> str:
    """One row per run."""
    found = list(runs)
    rows = [
        (run.name, "-" if run.last_step is None else f"{run.last_step:,}", f"{run.points:,}", f"{len(run.tags()):,}")
        for run in found[:_MAX_ROWS]
    ]
    head = f"<b>{len(found):,} runs</b> · {escape(where)}"
    return head + _table(("run", "last step", "points", "tags"), rows, [], len(found))


def _table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], curves: list[str], total: int) -> str:
    head = "".join(f"<th>{column}</th>" for column in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}{f'<td>{curves[i]}</td>' if curves else ''}</tr>"
        for i, row in enumerate(rows)
    )
    more = f"<p>… and {total - len(rows):,} more</p>" if total > len(rows) else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _sparkline(values: NDArray[np.float64]) -> str:
    """The curve as a small SVG: the mean of each of up to 60 parts; parts without finite values are gaps."""
    import numpy as np

    parts = np.array_split(values, min(60, len(values))) if len(values) else []
    means = [float(part[ok].mean()) if (ok := np.isfinite(part)).any() else None for part in parts]
    known = [mean for mean in means if mean is not None]
    if not known:
        return ""
    low, span = min(known), max(known) - min(known) or 1.0
    lines: list[list[str]] = [[]]
    for i, mean in enumerate(means):
        if mean is None:
            lines.append([])
            continue
        x = _WIDTH * i / max(1, len(means) - 1)
        lines[-1].append(f"{x:.1f},{_HEIGHT - 2 - (_HEIGHT - 4) * (mean - low) / span:.1f}")
    drawn = "".join(
        f'<polyline points="{" ".join(line)}" fill="none" stroke="currentColor" stroke-width="1.2"/>'
        for line in lines
        if line
    )
    return f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="curve">{drawn}</svg>'
