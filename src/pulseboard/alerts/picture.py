"""The small chart of a message, drawn with matplotlib where it is installed."""

from __future__ import annotations

import io

from pulseboard.alerts.message import Curve


def png_of(curve: Curve) -> bytes | None:
    """The curve as a PNG, with the steps of the finding marked; None without matplotlib or points."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return None
    if len(curve.steps) < 2:
        return None
    figure = Figure(figsize=(4.8, 2.0), dpi=100, layout="constrained")
    axes = figure.add_subplot()
    axes.plot(curve.steps, curve.values, color="#4269d0", linewidth=1.2)
    axes.axvspan(curve.first_step, max(curve.steps[-1], curve.first_step), color="#ff725c", alpha=0.15, linewidth=0)
    axes.set_title(curve.tag, fontsize=9, loc="left")
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()
