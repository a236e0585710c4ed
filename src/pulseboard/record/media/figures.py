"""Figures of matplotlib, rendered to pixels."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def render_figure(figure: Any, *, close: bool) -> NDArray[np.uint8]:
    """The figure as height x width x 3. `close` closes it in pyplot, which otherwise keeps it in memory."""
    import numpy as np

    agg: Any = importlib.import_module("matplotlib.backends.backend_agg")
    original_canvas = figure.canvas
    canvas = agg.FigureCanvasAgg(figure)
    canvas.draw()
    pixels: NDArray[np.uint8] = np.array(canvas.buffer_rgba())[:, :, :3]
    figure.set_canvas(original_canvas)  # keeps a figure on the screen if it was there
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if close and pyplot is not None:
        pyplot.close(figure)
    return pixels
