"""Pixels: images in any form that a training loop has, as rows of 8-bit pixels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pulseboard.record.arrays import as_array

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def as_pixels(image: Any, *, dataformats: str) -> NDArray[np.uint8]:
    """The image as height x width x channels, with at least two channels; a batch of images as one grid.

    `dataformats` names the axes: 'CHW', 'HWC', 'HW', 'NCHW', 'NHWC' or another order of these. The range of values is
    0 to 255 for uint8, otherwise 0 to 1.
    """
    return to_bytes(_height_width_channels(as_array(image), dataformats.upper()))


def to_bytes(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Values as uint8: uint8 is unchanged, other types are scaled from 0..1 and clipped."""
    import numpy as np

    if values.dtype == np.uint8:
        return values
    scaled = np.nan_to_num(values.astype(np.float32) * 255, copy=False, nan=0.0)
    pixels: NDArray[np.uint8] = scaled.clip(0, 255).astype(np.uint8)
    return pixels


def _height_width_channels(image: NDArray[Any], axes: str) -> NDArray[Any]:
    if len(set(axes)) != len(axes):
        raise AssertionError(f"dataformats={axes!r} names an axis twice.")
    if image.ndim != len(axes):
        raise AssertionError(f"dataformats={axes!r} names {len(axes)} axes, but the image has shape {image.shape}.")
    wanted = {2: "HW", 3: "HWC", 4: "NCHW"}.get(len(axes), "")
    if set(wanted) != set(axes):
        raise AssertionError(f"dataformats={axes!r} must name the axes HW, HWC or NCHW, in the order of the array.")
    image = image.transpose([axes.index(axis) for axis in wanted])
    if len(axes) == 4:
        return image_grid(image, columns=8)
    if len(axes) == 2:
        image = image[:, :, None]
    return image.repeat(3, axis=2) if image.shape[2] == 1 else image


def image_grid(images: NDArray[Any], *, columns: int) -> NDArray[Any]:
    """Images (N x C x H x W, one channel or three) side by side, as one image of height x width x 3."""
    import numpy as np

    count, channels, height, width = images.shape
    if channels not in (1, 3):
        raise AssertionError(f"Images of a batch must have 1 or 3 channels; these have {channels}.")
    columns = min(count, columns)
    rows = math.ceil(count / columns) if columns else 0
    cells = np.zeros((rows * columns, height, width, 3), images.dtype)
    cells[:count] = images.transpose(0, 2, 3, 1)
    grid: NDArray[Any] = cells.reshape(rows, columns, height, width, 3).swapaxes(1, 2)
    return grid.reshape(rows * height, columns * width, 3)
