"""Effective rank: in how many directions features really vary.

The exponential of the entropy of the covariance's eigenvalues, each over their sum (Roy and Vetterli, "The
effective rank", EUSIPCO 2007, of the covariance). k equal eigenvalues give k; one that is not 0 gives 1.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from pulseboard.instruments.arrays import gram, nan, rows, size
from pulseboard.record.arrays import is_tensor

# y log y, for y from 0 to 4096, is within 0.0029 (1 + y) of
#   LINEAR y + SQUARE y² + sum over j of WEIGHTS[j] log(1 + y / POLES[j]).
# Least squares, reweighted 400 times towards the largest error, on 3000 points; tests hold the bound.
LINEAR = 8.85392930039445
SQUARE = 0.00010838890938154815
POLES = tuple(float(pole) for pole in np.geomspace(0.012164403991146804, 574.6600129425324, 5))
WEIGHTS = (-0.04520424770806602, -0.44488643919048265, -7.270900809885707, -102.8432284445602, -1653.6387242433407)


def effective_rank(features: Any) -> Any:
    """The effective rank of the features' covariance, rows being what is left of the last axis.

    0 where nothing varies, so for one row; NaN of no rows and with NaN or infinity among them. Exact for
    arrays; for tensors within 0.6 % up to 4096 columns (or rows, if those are fewer).
    """
    values = rows(features)
    if not size(values):
        return nan(like=values)
    # From the first row, before the mean: features that are constant give 0 then, and not the mean's rounding.
    values = values - values[:1]
    values -= values.mean(0)
    covariance = gram(values)
    return exp_entropy_of_tensor(covariance) if is_tensor(covariance) else exp_entropy(covariance)


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
    """The same from five Cholesky factors.

    An eigenvalue solver of torch waits for a CUDA device, raises on NaN, and takes twice as long as these. With
    y the eigenvalues over their mean, the entropy is log n - mean(y log y). The sum above needs of them only
    their sum, the sum of their squares, and log det(1 + Y / pole), which a Cholesky factor has on its diagonal.
    """
    torch: Any = sys.modules["torch"]
    count = covariance.shape[0]
    trace = covariance.diagonal().sum()
    # Zeros stand in for what cannot be factored, and are sorted out at the end.
    usable = torch.isfinite(trace) & (trace > 0)
    scaled = torch.where(usable, covariance * (count / trace), torch.zeros_like(covariance))
    y_log_y = LINEAR * count + SQUARE * (scaled * scaled).sum()
    shifted = torch.empty_like(scaled)
    for pole, weight in zip(POLES, WEIGHTS, strict=True):
        torch.div(scaled, pole, out=shifted)
        shifted.diagonal().add_(1.0)
        factor, _ = torch.linalg.cholesky_ex(shifted)
        y_log_y = y_log_y + 2 * weight * factor.diagonal().log().sum()
    rank = count * torch.exp(-y_log_y / count)
    rank = torch.clip(rank, 1.0, float(count))
    return torch.where(usable, rank, torch.where(trace == 0, 0 * trace, trace * float("nan")))
