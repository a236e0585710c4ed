"""Boxes: rectangles and their labels, drawn on an image with Pillow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pulseboard.record.messages import warn_once

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LINE_WIDTH = 2


def draw_boxes(
    pixels: NDArray[np.uint8], *, boxes: NDArray[Any], labels: Sequence[str] | None, rescale: float
) -> NDArray[np.uint8]:
    """The image with `boxes` (left, top, right, bottom) in red, then resized. Without Pillow, unchanged."""
    import numpy as np

    try:
        from PIL import Image, ImageDraw
    except ImportError:
        warn_once("boxes", "Images are logged without their boxes: drawing needs Pillow. Run: pip install pillow")
        return pixels
    height, width, _ = pixels.shape
    image = Image.fromarray(np.ascontiguousarray(pixels))
    draw = ImageDraw.Draw(image)
    for i, (left, top, right, bottom) in enumerate(boxes.tolist()):
        corners = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
        draw.line(corners, width=_LINE_WIDTH, fill="Red")
        if labels is not None and labels[i]:
            _draw_label(draw, str(labels[i]), left=left, bottom=bottom)
    if rescale != 1:
        image = image.resize((int(width * rescale), int(height * rescale)), Image.Resampling.LANCZOS)
    return np.asarray(image)


def _draw_label(draw: Any, label: str, *, left: float, bottom: float) -> None:
    """Draw the label in black on red, in the lower left corner."""
    from PIL import ImageFont

    font = ImageFont.load_default()
    text_left, text_top, text_right, text_bottom = font.getbbox(label)
    width, height = text_right - text_left, text_bottom - text_top
    margin = math.ceil(0.05 * height)
    draw.rectangle([(left, bottom - height - 2 * margin), (left + width, bottom)], fill="Red")
    draw.text((left + margin, bottom - height - margin), label, fill="black", font=font)
