"""EMA no lag: the target network is identical to the trained network."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="ema-no-lag", reads="ema.distance")
def ema_no_lag(case: Case) -> Iterator[Finding]:
    """A distance of exactly 0 at several measurements in a row."""
    distance = case.need("ema.distance", points=3)
    same, least = distance.longest_streak, case.limit("ema-no-lag", "in_a_row")
    if same is None or same.value != 0.0 or same.length < least:
        return
    yield case.finding(
        "ema-no-lag",
        "critical",
        distance,
        f"{distance.tag} is exactly 0 at {same.length} measurements in a row from step {same.first_step:,}: the target "
        "network is a plain copy, not a moving average.",
        first_step=same.first_step,
        last_step=same.last_step,
        evidence=[Evidence(distance.tag, "measurements in a row at exactly 0", same.length, least, same.first_step)],
    )
