"""Out-of-memory risk: almost no memory is left."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import number


@detector(id="oom-risk", reads="memory.peak|memory.retries")
def oom_risk(case: Case) -> Iterator[Finding]:
    """A peak close to the available memory, if that is known, or an allocator that had to retry."""
    limit = case.limit("oom-risk", "share")
    retries = case.one("memory.retries")
    if retries is not None and retries.high > 0:
        yield case.finding(
            "oom-risk",
            "warning",
            retries,
            f"The allocator ran out of memory and had to free its cache and retry ({retries.tag} is "
            f"{number(retries.high)}).",
            evidence=[Evidence(retries.tag, "retries", retries.high, 0, retries.step_of_high(), on_curve=True)],
        )
        return
    for track in case.every("memory.peak"):
        percent = "%" in track.tag or "util" in track.tag
        whole = 100.0 if percent else case.gpu_memory_gb
        if whole is None or track.high / whole <= limit:
            continue
        yield case.finding(
            "oom-risk",
            "warning",
            track,
            f"{track.tag} reached {number(track.high)} of {number(whole)} {'%' if percent else 'GB'}.",
            first_step=track.step_of_high(),
            evidence=[
                Evidence(track.tag, "share of the available memory", track.high / whole, limit, track.step_of_high())
            ],
        )
        return
