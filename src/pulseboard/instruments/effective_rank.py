"""Effective rank: in how many directions features really vary.

The exponential of the entropy of the covariance's eigenvalues, each over their sum (Roy and Vetterli, "The
effective rank", EUSIPCO 2007, of the covariance). k equal eigenvalues give k; one that is not 0 gives 1.
"""

from __future__ import annotations

import functools
import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from pulseboard.instruments.arrays import gram, gram_of_pieces, nan, rows, size
from pulseboard.record.arrays import is_tensor

_PIECE_ROWS = 1024
_BYTES_FROM_COLUMNS = 128
_MOST_FROM_ROUNDING = 0.002


@dataclass(frozen=True, slots=True)
class Fit:
    """y log y as constant + linear y + square y² + the sum over j of weights[j] log(1 + y / poles[j]).

    For y from 0 to `largest` it is off by at most off[0] + off[1] y + off[2] y². Of numbers whose mean is 1 and
    whose mean square is at most `mean_square`, the means of both are then within off[0] + off[1] + off[2] mean_square.
    """

    largest: float
    mean_square: float
    off: tuple[float, float, float]
    constant: float
    linear: float
    square: float
    poles: tuple[float, ...]
    weights: tuple[float, ...]


# Least largest error by linear programming, the poles by a simplex search; tests hold the bounds: 0.8, 0.64, 0.71 %.
# The flatter a spectrum, the fewer poles are enough. The last is for any of up to 4096 numbers.
FITS = (
    Fit(48, 3, (0.00535, 0, 0.0009), -0.0053371912, 3.6564276, 0.017458765,
        poles=(0.07652, 2.616), weights=(-0.32103047, -8.6992279)),
    Fit(222, 64, (0.00359, 0.00252, 4.36e-6), -0.0035366596, 5.8853872, 0.0020864392,
        poles=(0.05161, 1.577, 28.37), weights=(-0.21654924, -4.6867044, -84.579571)),
    Fit(4096, 4096, (0.00314, 0.00395, 0), -0.0031261969, 8.7286224, 0.00011960124,
        poles=(0.04619, 1.486, 26.83, 473.6), weights=(-0.1952926, -4.5096536, -75.705355, -1435.5753)),
)  # fmt: skip


def effective_rank(features: Any) -> Any:
    """The effective rank of the features' covariance, rows being what is left of the last axis.

    0 where nothing varies, so for one row; NaN of no rows and with NaN or infinity among them. Exact for
    arrays; for tensors within 1 % up to 4096 columns (or rows, if those are fewer).
    """
    values = rows(features)
    if not size(values):
        return nan(like=values)
    covariance = _scatter(values)
    return exp_entropy_of_tensor(covariance) if is_tensor(covariance) else exp_entropy(covariance)


def _scatter(values: Any) -> Any:
    """The covariance times the number of rows, or another matrix with its eigenvalues."""
    # From the first row, before the mean: features that are constant give 0 then, and not the mean's rounding.
    first = values[:1]
    if values.shape[0] < values.shape[1] or not is_tensor(values) or values.device.type != "cpu":
        values = values - first
        values -= values.mean(0)
        return gram(values)
    if _multiplies_bytes() and values.element_size() == 4 and values.shape[1] >= _BYTES_FROM_COLUMNS:
        product = _scatter_of_bytes(values)
        if product is not None:
            return product
    # By pieces that stay in the cache: a copy of all, fresh from the system, takes a tenth of the whole time.
    pieces = values.split(_PIECE_ROWS)
    mean = sum((piece - first).sum(0) for piece in pieces) / values.shape[0]
    return gram_of_pieces((piece - first).sub_(mean) for piece in pieces)


@functools.cache
def _multiplies_bytes() -> bool:
    """Whether this CPU has instructions for products of bytes, and this torch calls them: four times as fast."""
    torch: Any = sys.modules["torch"]
    supported = getattr(torch.cpu, "_is_vnni_supported", None)
    return bool(hasattr(torch, "_int_mm") and supported and supported())


def _scatter_of_bytes(values: Any) -> Any:
    """The same with each column rounded to 255 levels; None if that could move the rank by 0.2 %.

    Rounding adds noise whose share of all variance is known. Spread over all directions, it adds at most
    share * (1 + log(columns / share)) to the entropy: a thousandth where columns are bell curves, and too much where
    a few rows are far from all the others.
    """
    torch: Any = sys.modules["torch"]
    columns = values.shape[1]
    product = values.new_zeros(columns, columns)
    means, counts = [], []
    for piece in values.split(_PIECE_ROWS):
        apart = piece - values[:1]
        mean = apart.mean(0)
        apart -= mean
        # Not aminmax, which takes ten times as long as both.
        level = torch.maximum(apart.amax(0), -apart.amin(0)).div_(127).clamp_min_(torch.finfo(values.dtype).tiny)
        noise, variance = float(level.square().sum()) / 12, float(apart.square().sum()) / len(piece)
        if noise and noise * (1 + math.log(columns * variance / noise)) > _MOST_FROM_ROUNDING * variance:
            return None
        rounded = apart.div_(level).round_().to(torch.int8)
        product.addcmul_(torch._int_mm(rounded.T, rounded) * level, level[:, None])
        means.append(mean)
        counts.append(len(piece))
    # What the pieces' means add, being apart from the mean of all.
    between, each = torch.stack(means), values.new_tensor(counts)[:, None]
    between -= (between * each).sum(0) / values.shape[0]
    return product.addmm_(between.T, between * each)


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

    An eigenvalue solver of torch waits for a CUDA device, raises on NaN, and takes twice as long as these. With
    y the eigenvalues over their mean, the entropy is log n - mean(y log y). A Fit needs of them only their sum,
    the sum of their squares, and log det(1 + Y / pole), which a Cholesky factor has on its diagonal.
    """
    torch: Any = sys.modules["torch"]
    count = covariance.shape[0]
    trace = covariance.diagonal().sum()
    # Zeros stand in for what cannot be factored, and are sorted out at the end.
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
    """The cheapest fit for eigenvalues with this sum of squares, none of which exceeds its root.

    Elsewhere than on a CPU, where looking would wait for the device, the one for all.
    """
    if squares.device.type != "cpu":
        return FITS[-1]
    found = float(squares)
    return next((f for f in FITS if found <= f.largest**2 and found <= f.mean_square * count), FITS[-1])
