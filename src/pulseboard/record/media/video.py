"""Video: batches of frames as one animated GIF, made with Pillow."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from pulseboard.record.messages import warn_once

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def video_grid(videos: NDArray[Any]) -> NDArray[Any]:
    """Videos (N x T x C x H x W) side by side, as one of T x height x width x C. Black videos fill the grid."""
    import numpy as np

    count, frames, channels, height, width = videos.shape
    if count & (count - 1):
        padding = np.zeros(((1 << count.bit_length()) - count, *videos.shape[1:]), videos.dtype)
        videos = np.concatenate([videos, padding])
    rows = 1 << (count.bit_length() - 1) // 2
    columns = len(videos) // rows
    grid = videos.reshape(rows, columns, frames, channels, height, width).transpose(2, 0, 4, 1, 5, 3)
    return grid.reshape(frames, rows * height, columns * width, channels)


def encode_gif(frames: NDArray[np.uint8], *, fps: float) -> bytes | None:
    """A GIF of T x height x width x 1 or 3, in an endless loop. None without Pillow, which is reported once."""
    try:
        from PIL import Image
    except ImportError:
        warn_once("video", "Videos are not logged: making a GIF needs Pillow. Run: pip install pillow")
        return None
    images = [Image.fromarray(frame[:, :, 0] if frame.shape[2] == 1 else frame) for frame in frames]
    out = io.BytesIO()
    images[0].save(out, format="GIF", save_all=True, append_images=images[1:], duration=round(1000 / fps), loop=0)
    return out.getvalue()
