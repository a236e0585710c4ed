"""SummaryWriter: the API of torch.utils.tensorboard, call for call, without TensorBoard and at a fraction of the cost.

It differs where torch's would fail or mislead: NaN in a histogram is left out and reported, lists are accepted as
arrays, bfloat16 keeps its range, and disk errors never reach the caller.
"""

from __future__ import annotations

from pulseboard.record.compat.writer_distributions import DistributionMethods
from pulseboard.record.compat.writer_media import MediaMethods
from pulseboard.record.compat.writer_models import ModelMethods
from pulseboard.record.compat.writer_scalars import ScalarMethods


class SummaryWriter(ScalarMethods, DistributionMethods, MediaMethods, ModelMethods):
    """Writes event files to `log_dir` for TensorBoard and Pulseboard. Arguments have torch's names and order."""
