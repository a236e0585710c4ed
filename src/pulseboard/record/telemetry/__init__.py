"""telemetry: what the machine does meanwhile. Sources in `sources/`, one file each; samples out.

Never imports torch and never starts CUDA; what is not there or fails is left out, and said once.
"""

from pulseboard.record.telemetry.sampler import Telemetry
from pulseboard.record.telemetry.source import Metric, Sample, Source, all_metrics, source

__all__ = ["Metric", "Sample", "Source", "Telemetry", "all_metrics", "source"]
