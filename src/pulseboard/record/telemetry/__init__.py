"""telemetry: what the machine does during training. One file per source in `sources/`.

Never imports torch and never starts CUDA. A source that is missing or fails is left out, and reported once.
"""

from pulseboard.core.metric import Metric
from pulseboard.record.telemetry.sampler import Telemetry
from pulseboard.record.telemetry.source import Sample, Source, all_metrics, source

__all__ = ["Metric", "Sample", "Source", "Telemetry", "all_metrics", "source"]
