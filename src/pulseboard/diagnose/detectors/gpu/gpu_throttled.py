"""GPU throttled: the clock is down because the GPU is too hot or draws too much power."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="gpu-throttled", reads="gpu.clock")
def gpu_throttled(case: Case) -> Iterator[Finding]:
    """A clock below its own usual value, with a throttle flag or a temperature at the slowdown limit."""
    limit = case.limit("gpu-throttled", "clock_share")
    for track in case.every("gpu.clock"):
        steps, values = track.points(most=512)
        if len(values) < 10:
            continue
        usual = float(np.quantile(values, 0.9))
        low = values < limit * usual
        reason = _reason(case, track.tag)
        if usual <= 0 or float(low[-max(5, len(low) // 5) :].mean()) < 0.8 or not reason:
            continue
        level = float(np.median(values[low]))
        yield case.finding(
            "gpu-throttled",
            "warning",
            track,
            f"{track.tag} dropped from {usual:.0f} to {level:.0f}: {reason}.",
            first_step=int(steps[int(np.argmax(low))]),
            evidence=[Evidence(track.tag, "clock relative to its usual value", level / usual, limit, int(steps[-1]))],
        )


def _reason(case: Case, tag: str) -> str:
    number = re.search(r"\d+", tag)
    same = [t for t in case.every("gpu.throttle") if number and number.group() in t.tag]
    if any(t.high > 0 for t in same):
        return "the driver reports throttling"
    slow = [t for t in case.every("gpu.temp_slowdown") if number and number.group() in t.tag]
    hot = [t for t in case.every("gpu.temperature") if number and number.group() in t.tag]
    if slow and hot and hot[0].high >= slow[0].low - 2:
        return f"the GPU reached {hot[0].high:.0f} °C, and it slows down at {slow[0].low:.0f} °C"
    return ""
