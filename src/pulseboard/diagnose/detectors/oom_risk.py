"""Out-of-memory risk: hardly any memory is left."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="oom-risk", reads="memory.peak|memory.retries")
def oom_risk(case: Case) -> Iterator[Finding]:
    """Above a share of what there is, where that is known, or an allocator that had to try again."""
    limit = case.limit("oom-risk", "share")
    retries = case.one("memory.retries")
    if retries is not None and retries.high > 0:
        yield case.finding(
            "oom-risk",
            "warning",
            retries,
            f"The allocator had to free its caches and try again {retries.high:.0f} times ({retries.tag}).",
            evidence=[Evidence(retries.tag, "retries", retries.high, 0, retries.step_of_high())],
        )
        return
    for track in case.every("memory.peak"):
        percent = "%" in track.tag or "util" in track.tag
        whole = 100.0 if percent else case.context.memory_limit_gb
        if whole is None or track.high / whole <= limit:
            continue
        yield case.finding(
            "oom-risk",
            "warning",
            track,
            f"{track.tag} reached {track.high:.4g} of {whole:.4g}.",
            first_step=track.step_of_high(),
            evidence=[Evidence(track.tag, "share of the memory", track.high / whole, limit, track.step_of_high())],
        )
        return
