"""Figures: matplotlib's, rendered to pixels."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def render_figure(figure: Any, *, close: bool) -> NDArray[np.uint8]:
    """The figure as height x width x 3. `close` gives it back to pyplot, which keeps figures until told."""
    import numpy as np

    agg: Any = importlib.import_module("matplotlib.backends.backend_agg")
    own = figure.canvas
    canvas = agg.FigureCanvasAgg(figure)
    canvas.draw()
    pixels: NDArray[np.uint8] = np.array(canvas.buffer_rgba())[:, :, :3]
    figure.set_canvas(own)  # a figure on a screen stays there
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if close and pyplot is not None:
        pyplot.close(figure)
    return pixels
