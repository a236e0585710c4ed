"""Effective rank: the number of directions in which features vary.

The exponential of the entropy of the covariance's eigenvalues, divided by their sum (Roy and Vetterli, "The effective
rank", EUSIPCO 2007, applied to the covariance). k equal eigenvalues give k; a single non-zero one gives 1.
"""

from __future__ import annotations

import functools
import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from pulseboard.instruments.math.arrays import gram, gram_of_pieces, nan, rows, size
from pulseboard.record.arrays import is_tensor

_PIECE_ROWS = 1024
_MIN_COLUMNS_FOR_BYTES = 128
_MAX_ROUNDING_ERROR_FRAC = 0.002


@dataclass(frozen=True, slots=True)
class Fit:
    """y log y approximated by constant + linear y + square y² + the sum over j of weights[j] log(1 + y / poles[j]).

    For y from 0 to `largest`, the error is at most error[0] + error[1] y + error[2] y². For numbers with mean 1 and a
    mean square of at most `mean_square`, the mean is then off by at most error[0] + error[1] + error[2] mean_square.
    """

    largest: float
    mean_square: float
    error: tuple[float, float, float]
    constant: float
    linear: float
    square: float
    poles: tuple[float, ...]
    weights: tuple[float, ...]


# Minimax fits by linear programming, with poles from a simplex search; tests check the bounds of 0.8, 0.64 and 0.71 %.
# The flatter the spectrum, the fewer poles are needed. The last fit works for any spectrum of up to 4096 numbers.
FITS = (
    Fit(48, 3, (0.00535, 0, 0.0009), -0.0053371912, 3.6564276, 0.017458765,
        poles=(0.07652, 2.616), weights=(-0.32103047, -8.6992279)),
    Fit(222, 64, (0.00359, 0.00252, 4.36e-6), -0.0035366596, 5.8853872, 0.0020864392,
        poles=(0.05161, 1.577, 28.37), weights=(-0.21654924, -4.6867044, -84.579571)),
    Fit(4096, 4096, (0.00314, 0.00395, 0), -0.0031261969, 8.7286224, 0.00011960124,
        poles=(0.04619, 1.486, 26.83, 473.6), weights=(-0.1952926, -4.5096536, -75.705355, -1435.5753)),
)  # fmt: skip


def effective_rank(features: Any) -> Any:
    """The effective rank of the covariance of `features`, which are along the last axis.

    0 if nothing varies, as with one row; NaN without rows, or if a value is NaN or infinite. Exact for arrays; for
    tensors within 1 % up to 4096 columns (or rows, if those are fewer).
    """
    values = rows(features)
    if not size(values):
        return nan(like=values)
    covariance = _scatter(values)
    return exp_entropy_of_tensor(covariance) if is_tensor(covariance) else exp_entropy(covariance)


def _scatter(values: Any) -> Any:
    """The covariance times the number of rows, or a smaller matrix with the same non-zero eigenvalues."""
    # Subtract the first row before the mean: constant features then give exactly 0, without the mean's rounding.
    first = values[:1]
    if values.shape[0] < values.shape[1] or not is_tensor(values) or values.device.type != "cpu":
        values = values - first
        values -= values.mean(0)
        return gram(values)
    if _multiplies_bytes() and values.element_size() == 4 and values.shape[1] >= _MIN_COLUMNS_FOR_BYTES:
        product = _scatter_of_bytes(values)
        if product is not None:
            return product
    # In pieces that fit the cache: allocating a copy of everything would take a tenth of the total time.
    pieces = values.split(_PIECE_ROWS)
    mean = sum((piece - first).sum(0) for piece in pieces) / values.shape[0]
    return gram_of_pieces((piece - first).sub_(mean) for piece in pieces)


@functools.cache
def _multiplies_bytes() -> bool:
    """Whether this CPU has instructions for products of bytes and this torch uses them: four times as fast."""
    torch: Any = sys.modules["torch"]
    supported = getattr(torch.cpu, "_is_vnni_supported", None)
    return bool(hasattr(torch, "_int_mm") and supported and supported())


def _scatter_of_bytes(values: Any) -> Any:
    """The same with each column rounded to 255 levels; None if that could change the rank by more than 0.2 %.

    Rounding adds noise whose share of the variance is known. Spread over all directions, it adds at most
    share * (1 + log(columns / share)) to the entropy: about 0.001 for normally distributed columns, and too much if a
    few rows are far from all others.
    """
    torch: Any = sys.modules["torch"]
    columns = values.shape[1]
    product = values.new_zeros(columns, columns)
    means, counts = [], []
    for piece in values.split(_PIECE_ROWS):
        centered = piece - values[:1]
        mean = centered.mean(0)
        centered -= mean
        # Not aminmax, which takes ten times as long as these two together.
        level = torch.maximum(centered.amax(0), -centered.amin(0)).div_(127).clamp_min_(torch.finfo(values.dtype).tiny)
        noise, variance = float(level.square().sum()) / 12, float(centered.square().sum()) / len(piece)
        if noise and noise * (1 + math.log(columns * variance / noise)) > _MAX_ROUNDING_ERROR_FRAC * variance:
            return None
        rounded = centered.div_(level).round_().to(torch.int8)
        product.addcmul_(torch._int_mm(rounded.T, rounded) * level, level[:, None])
        means.append(mean)
        counts.append(len(piece))
    # Add the contribution of the pieces' means, which differ from the overall mean.
    between, sizes = torch.stack(means), values.new_tensor(counts)[:, None]
    between -= (between * sizes).sum(0) / values.shape[0]
    return product.addmm_(between.T, between * sizes)


def exp_entropy(covariance: Any) -> Any:
    """The exponential of the entropy of a matrix's eigenvalues, by computing them."""
    if not np.isfinite(covariance).all():
        return np.float64("nan")  # LAPACK would raise
    eigenvalues = np.maximum(np.linalg.eigvalsh(covariance), 0.0)
    total = eigenvalues.sum()
    if total == 0:
        return np.float64(0.0)
    shares = eigenvalues[eigenvalues > 0] / total
    return np.exp(-(shares * np.log(shares)).sum())


def exp_entropy_of_tensor(covariance: Any) -> Any:
    """The same from two to four Cholesky factors.

    torch's eigenvalue solvers wait for a CUDA device, raise on NaN, and take twice as long. With y the eigenvalues
    divided by their mean, the entropy is log n - mean(y log y). A Fit needs only their sum, the sum of their squares,
    and log det(1 + Y / pole), which is on the diagonal of a Cholesky factor.
    """
    torch: Any = sys.modules["torch"]
    count = covariance.shape[0]
    trace = covariance.diagonal().sum()
    # Zeros replace a matrix that cannot be factored; the last line gives its result.
    usable = torch.isfinite(trace) & (trace > 0)
    scaled = torch.where(usable, covariance * (count / trace), trace.new_zeros(()))
    squares = torch.linalg.vector_norm(scaled).square()
    fit = _fit_for(squares, count)
    y_log_y = fit.constant * count + fit.linear * count + fit.square * squares
    diagonal = scaled.diagonal().clone()
    for pole, weight in zip(fit.poles, fit.weights, strict=True):
        torch.add(diagonal, pole, out=scaled.diagonal())
        factor, _ = torch.linalg.cholesky_ex(scaled)
        y_log_y = y_log_y + 2 * weight * (factor.diagonal() / math.sqrt(pole)).log().sum()
    rank = count * torch.exp(-y_log_y / count)
    rank = torch.clip(rank, 1.0, float(count))
    return torch.where(usable, rank, torch.where(trace == 0, 0 * trace, trace * float("nan")))


def _fit_for(squares: Any, count: int) -> Fit:
    """The cheapest fit for eigenvalues with this sum of squares; none of them exceeds its square root.

    Reading the sum would wait for a device, so only a CPU chooses; other devices use the fit for any spectrum.
    """
    if squares.device.type != "cpu":
        return FITS[-1]
    total = float(squares)
    return next((f for f in FITS if total <= f.largest**2 and total <= f.mean_square * count), FITS[-1])
