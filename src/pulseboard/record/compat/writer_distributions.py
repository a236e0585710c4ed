"""SummaryWriter's histograms, tensors and precision-recall curves."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import Any

from pulseboard.record.arrays import as_array, is_tensor
from pulseboard.record.compat.file_writer import whole_step
from pulseboard.record.compat.writer_files import WriterFiles
from pulseboard.record.media.histogram import bucket_edges, histogram_in_bins, histogram_of
from pulseboard.record.media.pr_curve import pr_curve_rows
from pulseboard.record.messages import warn_once
from pulseboard.tbformat.codecs.histogram import Buckets, encode_histogram
from pulseboard.tbformat.codecs.pr_curve import encode_pr_curve
from pulseboard.tbformat.summary import encode_tensor
from pulseboard.tbformat.tensor import bfloat16_tensor_bytes, tensor_bytes

# torch writes no more, and notes that more broke the message.
_MAX_THRESHOLDS = 127
_MAX_TENSOR_BYTES = (1 << 31) - 1


class DistributionMethods(WriterFiles):
    """The methods of SummaryWriter that log distributions and tensors."""

    @functools.cached_property
    def default_bins(self) -> list[float]:
        """The edges of TensorBoard's histogram buckets."""
        return list(bucket_edges())

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Log the distribution of `values`. `bins` other than 'tensorflow' are passed to numpy.histogram."""
        default = isinstance(bins, str) and bins == "tensorflow"
        if default and max_bins is None:
            histogram = histogram_of(values)
        else:
            histogram = histogram_in_bins(values, bins=self.default_bins if default else bins, max_bins=max_bins)
        left_out = histogram.nan + histogram.inf
        if not (histogram.num or left_out):
            raise ValueError(f"The histogram {tag!r} has no values.")
        if left_out:
            warn_once(
                f"histogram {tag}",
                f"The histogram {tag!r} leaves out {histogram.nan} NaN and {histogram.inf} infinite values of "
                f"{int(histogram.num) + left_out} (at step {whole_step(global_step)}; later steps are not reported).",
            )
        self._add(encode_histogram(tag, histogram=histogram), step=global_step, walltime=walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: float,
        sum: float,
        sum_squares: float,
        bucket_limits: Sequence[float],
        bucket_counts: Sequence[float],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log a histogram from its counts. Bucket i ends at `bucket_limits[i]`."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError(
                f"bucket_limits and bucket_counts must have the same length, not {len(bucket_limits)} and "
                f"{len(bucket_counts)}."
            )
        histogram = Buckets(
            min=float(min),
            max=float(max),
            num=float(num),
            sum=float(sum),
            sum_squares=float(sum_squares),
            limits=as_array(bucket_limits).tolist(),
            counts=as_array(bucket_counts).tolist(),
        )
        self._add(encode_histogram(tag, histogram=histogram), step=global_step, walltime=walltime)

    def add_tensor(self, tag: str, tensor: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Log a tensor unchanged."""
        self._add(encode_tensor(tag, tensor=_tensor_message(tag, tensor)), step=global_step, walltime=walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = _MAX_THRESHOLDS,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log precision and recall of `predictions` (0 to 1) of `labels` (0 or 1), at `num_thresholds` thresholds."""
        thresholds = min(num_thresholds, _MAX_THRESHOLDS)
        rows = pr_curve_rows(labels, predictions=predictions, thresholds=thresholds, weights=weights)
        self._add(encode_pr_curve(tag, rows=rows, num_thresholds=thresholds), step=global_step, walltime=walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = _MAX_THRESHOLDS,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log precision and recall that were computed elsewhere. `weights` is ignored, as in torch."""
        import numpy as np

        counts = (true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts)
        rows = np.stack([as_array(row) for row in (*counts, precision, recall)])
        thresholds = min(num_thresholds, _MAX_THRESHOLDS)
        self._add(encode_pr_curve(tag, rows=rows, num_thresholds=thresholds), step=global_step, walltime=walltime)


def _tensor_message(tag: str, tensor: Any) -> bytes:
    if is_tensor(tensor):
        torch: Any = sys.modules["torch"]
        if tensor.numel() * tensor.element_size() > _MAX_TENSOR_BYTES:
            raise ValueError(f"The tensor {tag!r} is larger than 2 GB, the limit of a record.")
        if tensor.dtype == torch.bfloat16:
            return bfloat16_tensor_bytes(tensor.detach().view(torch.int16).numpy(force=True).view("u2"))
    return tensor_bytes(as_array(tensor))
