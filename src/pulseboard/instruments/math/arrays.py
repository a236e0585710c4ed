"""Arrays: the few operations that instruments need, for torch tensors and for NumPy arrays alike.

Tensors stay on their device, and nothing waits for a result. Everything else becomes a float64 array.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pulseboard.record.arrays import is_tensor

# With fewer columns, one product is faster than products of blocks, which exploit the symmetry.
_BLOCKED_FROM_COLUMNS = 384
_BLOCKS = 8  # along the diagonal


def module_of(array: Any) -> Any:
    """The module with the array's functions: torch for a tensor, NumPy otherwise."""
    return sys.modules["torch"] if is_tensor(array) else np


def floats(values: Any) -> Any:
    """Values as floats. Tensors of integers, or of fewer bits than float32, become float32."""
    if is_tensor(values):
        torch: Any = sys.modules["torch"]
        values = values.detach()
        return values if values.dtype in (torch.float32, torch.float64) else values.to(torch.float32)
    if isinstance(values, Sequence) and any(is_tensor(value) for value in values):
        return stacked(values)
    return np.asarray(values, dtype=np.float64)


def same_kind(values: Any, *, like: Any) -> Any:
    """The values as a tensor on the device of `like`, or as an array if `like` is an array."""
    if not is_tensor(like):
        return floats(values)
    if is_tensor(values):
        return floats(values).to(like.device, non_blocking=True)
    torch: Any = sys.modules["torch"]
    return torch.as_tensor(np.asarray(values, dtype=np.float64), dtype=like.dtype, device=like.device)


def stacked(values: Iterable[Any]) -> Any:
    """Numbers, or arrays of the same shape, stacked along a new first axis."""
    values = list(values)
    first = next((value for value in values if is_tensor(value)), None)
    if first is None:
        return np.asarray([np.asarray(value, dtype=np.float64) for value in values], dtype=np.float64)
    torch: Any = sys.modules["torch"]
    like = floats(first)
    # `full` fills on the device; copying a Python number to it would wait.
    return torch.stack(
        [
            floats(value).to(like.device, like.dtype, non_blocking=True)
            if is_tensor(value)
            else torch.full(like.shape, value, dtype=like.dtype, device=like.device)
            for value in values
        ]
    )


def rows(features: Any) -> Any:
    """Features as a matrix: the last axis stays, all others become rows."""
    values = floats(features)
    width = values.shape[-1] if values.ndim else 1
    count = size(values) // width if width else int(np.prod(values.shape[:-1]))
    return values.reshape(count, width)


def size(array: Any) -> int:
    """The number of elements."""
    return int(array.numel() if is_tensor(array) else array.size)


def nan(*, like: Any) -> Any:
    """NaN, as a tensor or a number like `like`."""
    return number(float("nan"), like=like)


def number(value: float, *, like: Any) -> Any:
    """A number as a 0-d tensor on the device of `like`, or as a NumPy number."""
    if not is_tensor(like):
        return np.float64(value)
    torch: Any = sys.modules["torch"]
    dtype = like.dtype if like.dtype.is_floating_point else torch.float32
    return torch.full((), value, dtype=dtype, device=like.device)


def scalar(value: Any) -> Any:
    """A number as a 0-d tensor if it is a tensor, and as a float otherwise; both combine with tensors and arrays."""
    return floats(value).reshape(()) if is_tensor(value) else float(value)


def mean(array: Any) -> Any:
    """The mean of all elements; NaN if there are none."""
    return array.mean() if size(array) else nan(like=array)


def std(array: Any) -> Any:
    """The population standard deviation of all elements (divided by n); NaN if there are none."""
    if not size(array):
        return nan(like=array)
    return module_of(array).sqrt(mean((array - array.mean()) ** 2))


def largest(array: Any) -> Any:
    """The largest element; NaN if there are none, or if one is NaN."""
    return module_of(array).max(array) if size(array) else nan(like=array)


def smallest(array: Any) -> Any:
    """The smallest element; NaN if there are none, or if one is NaN."""
    return module_of(array).min(array) if size(array) else nan(like=array)


def lengths(matrix: Any) -> Any:
    """The L2 norm of each row."""
    return module_of(matrix).sqrt((matrix * matrix).sum(-1))


def directions(matrix: Any) -> Any:
    """Each row divided by its norm; a row of zeros stays zeros."""
    xp = module_of(matrix)
    norms = lengths(matrix)
    return matrix / xp.where(norms == 0, xp.ones_like(norms), norms)[..., None]


def at_most(array: Any, limit: float) -> Any:
    """Elements clipped to at most `limit`; NaN stays."""
    return array.clip(max=limit) if is_tensor(array) else np.minimum(array, limit)


def at_least(array: Any, limit: float) -> Any:
    """Elements clipped to at least `limit`; NaN stays."""
    return array.clip(min=limit) if is_tensor(array) else np.maximum(array, limit)


def gram(matrix: Any) -> Any:
    """Products of all pairs of columns, or of rows if those are fewer: the same eigenvalues, except for zeros."""
    return gram_of_pieces([matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T])


def gram_of_pieces(pieces: Iterable[Any]) -> Any:
    """Products of all pairs of columns of a matrix that arrives in pieces of a few rows each."""
    product: Any = None
    for piece in pieces:
        if not _in_blocks(piece):
            part = piece.T @ piece  # NumPy detects the symmetry itself
            product = part if product is None else product.__iadd__(part)
        elif sys.modules["torch"].get_num_threads() == 1:
            # BLAS has a routine for symmetric products, half the work, but torch does not call it.
            part = sys.modules["torch"].from_numpy(piece.numpy().T @ piece.numpy())
            product = part if product is None else product.add_(part)
        else:
            if product is None:
                product = piece.new_zeros(piece.shape[1], piece.shape[1])
            _add_blocks(product, piece)
    return product


def _in_blocks(matrix: Any) -> bool:
    columns = matrix.shape[1]
    return (
        is_tensor(matrix) and matrix.device.type == "cpu" and columns >= _BLOCKED_FROM_COLUMNS and not columns % _BLOCKS
    )


def _add_blocks(product: Any, matrix: Any) -> None:
    """Add a matrix's products block by block. Blocks above the diagonal are copies, which leaves 9/16 of the work."""
    torch: Any = sys.modules["torch"]
    count, columns = matrix.shape
    # First one block of half the columns, then two blocks of a quarter at once, then four of an eighth.
    pairs = 1
    while pairs < _BLOCKS:
        width = columns // (2 * pairs)
        left, right = matrix.reshape(count, pairs, 2, width).permute(2, 1, 0, 3)
        shape, steps = (pairs, width, width), (2 * width * (columns + 1), columns, 1)
        below = product.as_strided(shape, steps, width * columns)
        torch.baddbmm(below, right.transpose(1, 2), left, out=below)
        product.as_strided(shape, steps, width).copy_(below.transpose(1, 2))
        pairs *= 2
    width = columns // _BLOCKS
    blocks = matrix.reshape(count, _BLOCKS, width).transpose(0, 1)
    diagonal = product.as_strided((_BLOCKS, width, width), (width * (columns + 1), columns, 1))
    torch.baddbmm(diagonal, blocks.transpose(1, 2), blocks, out=diagonal)
