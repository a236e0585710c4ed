"""Arrays: the few operations that instruments need, the same for torch tensors and for NumPy.

A tensor stays on its device and no result is waited for. Everything else becomes a float64 array.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any, TypeVar

import numpy as np

from pulseboard.record.arrays import is_tensor

Measure = TypeVar("Measure", bound=Callable[..., dict[str, Any]])

# Below this many columns one product is quicker than those of the blocks, which use the symmetry.
_BLOCKED_FROM_COLUMNS = 384
_BLOCKS = 8  # along the diagonal


def measuring(measure: Measure) -> Measure:
    """Call without tracing gradients or warning of NaN; hand out tensors as they are, and floats for arrays."""

    @functools.wraps(measure)
    def measured(*args: Any, **named: Any) -> dict[str, Any]:
        torch = sys.modules.get("torch")
        with torch.no_grad() if torch is not None else nullcontext(), np.errstate(all="ignore"):
            found = measure(*args, **named)
        return {
            tag: float(value) if isinstance(value, np.generic | np.ndarray) else value for tag, value in found.items()
        }

    made: Any = measured
    result: Measure = made
    return result


def module_of(array: Any) -> Any:
    """torch for a tensor, NumPy for the rest: where the functions of the same names are."""
    return sys.modules["torch"] if is_tensor(array) else np


def floats(values: Any) -> Any:
    """Values to compute with. Tensors of fewer bits than float32, and whole numbers, become float32."""
    if is_tensor(values):
        torch: Any = sys.modules["torch"]
        values = values.detach()
        return values if values.dtype in (torch.float32, torch.float64) else values.to(torch.float32)
    if isinstance(values, Sequence) and any(is_tensor(value) for value in values):
        return stacked(values)
    return np.asarray(values, dtype=np.float64)


def same_kind(values: Any, *, like: Any) -> Any:
    """The values as a tensor on the device of `like`, or as an array if that is one."""
    if not is_tensor(like):
        return floats(values)
    if is_tensor(values):
        return floats(values).to(like.device, non_blocking=True)
    torch: Any = sys.modules["torch"]
    return torch.as_tensor(np.asarray(values, dtype=np.float64), dtype=like.dtype, device=like.device)


def stacked(values: Iterable[Any]) -> Any:
    """Numbers, or arrays of one shape, one after another along a new first axis."""
    values = list(values)
    first = next((value for value in values if is_tensor(value)), None)
    if first is None:
        return np.asarray([np.asarray(value, dtype=np.float64) for value in values], dtype=np.float64)
    torch: Any = sys.modules["torch"]
    like = floats(first)
    # `full` fills on the device; a copy of a Python number to it would wait.
    return torch.stack(
        [
            floats(value).to(like.device, like.dtype, non_blocking=True)
            if is_tensor(value)
            else torch.full(like.shape, value, dtype=like.dtype, device=like.device)
            for value in values
        ]
    )


def rows(features: Any) -> Any:
    """Features as a matrix: the last axis stays, all before it become rows."""
    values = floats(features)
    width = values.shape[-1] if values.ndim else 1
    count = size(values) // width if width else int(np.prod(values.shape[:-1]))
    return values.reshape(count, width)


def size(array: Any) -> int:
    """How many numbers it holds."""
    return int(array.numel() if is_tensor(array) else array.size)


def nan(*, like: Any) -> Any:
    """Not a number, of the kind of `like`."""
    return number(float("nan"), like=like)


def number(value: float, *, like: Any) -> Any:
    """A number as a 0-d tensor on the device of `like`, or as itself."""
    if not is_tensor(like):
        return np.float64(value)
    torch: Any = sys.modules["torch"]
    dtype = like.dtype if like.dtype.is_floating_point else torch.float32
    return torch.full((), value, dtype=dtype, device=like.device)


def scalar(value: Any) -> Any:
    """A number as a 0-d tensor if it is a tensor, or else as a float; either goes with tensors and arrays."""
    return floats(value).reshape(()) if is_tensor(value) else float(value)


def mean(array: Any) -> Any:
    """The mean of all numbers; NaN of none."""
    return array.mean() if size(array) else nan(like=array)


def std(array: Any) -> Any:
    """The standard deviation of all numbers as they are (divided by n); NaN of none."""
    if not size(array):
        return nan(like=array)
    return module_of(array).sqrt(mean((array - array.mean()) ** 2))


def largest(array: Any) -> Any:
    """The largest number; NaN of none, or with a NaN among them."""
    return module_of(array).max(array) if size(array) else nan(like=array)


def smallest(array: Any) -> Any:
    """The smallest number; NaN of none, or with a NaN among them."""
    return module_of(array).min(array) if size(array) else nan(like=array)


def lengths(matrix: Any) -> Any:
    """The L2 norm of each row."""
    return module_of(matrix).sqrt((matrix * matrix).sum(-1))


def directions(matrix: Any) -> Any:
    """Each row over its norm; a row of zeros stays zeros."""
    xp = module_of(matrix)
    norms = lengths(matrix)
    return matrix / xp.where(norms == 0, xp.ones_like(norms), norms)[..., None]


def at_most(array: Any, limit: float) -> Any:
    """Numbers cut at `limit` from above; NaN stays."""
    return array.clip(max=limit) if is_tensor(array) else np.minimum(array, limit)


def at_least(array: Any, limit: float) -> Any:
    """Numbers cut at `limit` from below; NaN stays."""
    return array.clip(min=limit) if is_tensor(array) else np.maximum(array, limit)


def gram(matrix: Any) -> Any:
    """Products of all columns with each other, or of all rows if those are fewer: the same eigenvalues, less zeros."""
    return gram_of_pieces([matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T])


def gram_of_pieces(pieces: Iterable[Any]) -> Any:
    """Products of all columns with each other, of a matrix that comes in pieces of some rows each."""
    product: Any = None
    for piece in pieces:
        if not _by_blocks(piece):
            one = piece.T @ piece  # NumPy sees by itself that this is symmetric
            product = one if product is None else product.__iadd__(one)
        elif sys.modules["torch"].get_num_threads() == 1:
            # BLAS has a routine for symmetric products, which torch does not call: half of the work.
            one = sys.modules["torch"].from_numpy(piece.numpy().T @ piece.numpy())
            product = one if product is None else product.add_(one)
        else:
            if product is None:
                product = piece.new_zeros(piece.shape[1], piece.shape[1])
            _add_blocks(product, piece)
    return product


def _by_blocks(matrix: Any) -> bool:
    columns = matrix.shape[1]
    return (
        is_tensor(matrix) and matrix.device.type == "cpu" and columns >= _BLOCKED_FROM_COLUMNS and not columns % _BLOCKS
    )


def _add_blocks(product: Any, matrix: Any) -> None:
    """Add a matrix's products block by block. Those above the diagonal are copies: nine sixteenths of the work."""
    torch: Any = sys.modules["torch"]
    count, columns = matrix.shape
    # At first one block of half the columns, then two of a quarter at once, then four of an eighth.
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
    each = matrix.reshape(count, _BLOCKS, width).transpose(0, 1)
    on = product.as_strided((_BLOCKS, width, width), (width * (columns + 1), columns, 1))
    torch.baddbmm(on, each.transpose(1, 2), each, out=on)
