"""Loss drift up: the loss creeps upwards, slowly."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.detectors.loss_diverged import divergence, moving_target
from pulseboard.diagnose.episodes import episodes
from pulseboard.diagnose.statistics.trend import trend
from pulseboard.diagnose.track import Points


@detector(id="loss-drift-up", reads="train.loss")
def loss_drift_up(case: Case) -> Iterator[Finding]:
    """A slow rise: an episode that only means show, or a trend over the last half; less grave than divergence."""
    loss = case.need("train.loss", points=64)
    if moving_target(case) or divergence(case, loss) is not None:
        return
    least = case.limit("loss-drift-up", "rise")
    for episode in episodes(case, loss):
        if not episode.slow or episode.returned is True:
            continue
        share = episode.rise / abs(episode.alarm.level) if episode.alarm.level else float("inf")
        if share >= least and episode.explained is None:
            yield _finding(case, loss.tag, episode.alarm.first_step, share, least)
            return
    steps, values = loss.points(most=512)
    later = steps > max(case.warm_up_step, int(steps[len(steps) // 2]))
    line = trend(Points(steps[later], values[later]))
    if line is None or line.p_rising > case.limit("loss-drift-up", "p"):
        return
    share = (line.end - line.start) / abs(line.start) if line.start else 0.0
    if share >= least:
        yield _finding(case, loss.tag, int(steps[later][0]), share, least)


def _finding(case: Case, tag: str, step: int, share: float, least: float) -> Finding:
    return case.finding(
        "loss-drift-up",
        "warning",
        tag,
        f"{tag} has crept up by {100 * share:.1f} % since step {step}.",
        first_step=step,
        evidence=[Evidence(tag, "rise as a share of the level", share, least, step)],
    )
