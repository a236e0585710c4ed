"""Loss NaN: a loss, or any other metric, that is NaN or infinite."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding, Severity
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import count
from pulseboard.diagnose.track import Track

SLUG = "loss-nan"
# In order of importance. Gradients have their own finding.
LOSSES = ("train.loss", "loss.components", "val.loss", "loss.levels", "gan.loss", "rl.loss")
RESULTS = ("rl.return",)
SCORES = ("val.accuracy", "train.accuracy", "val.error", "train.error")


@detector(id=SLUG, reads="any")
def loss_nan(case: Case) -> Iterator[Finding]:
    """The first loss affected; if there is none, the first return; otherwise the worst of all other tags."""
    for roles in (LOSSES, RESULTS):
        wrong = [track for role in roles for track in case.every(role) if track.not_finite]
        if wrong:
            yield _finding(
                case, min(wrong, key=lambda t: (t.not_finite.first_step or 0, t.tag)), is_loss=roles is LOSSES
            )
            return
    # Gradients have their own finding, and a score that is NaN is an impossible value.
    skipped = {t.tag for role in ("gradient.norm", "gradient.layers", *SCORES) for t in case.every(role)}
    others = [t for tag, t in case.tracks.items() if t.not_finite and tag not in skipped and _turned(case, t)]
    if others:
        track = max(others, key=lambda t: (t.not_finite.nan + t.not_finite.inf) / len(t))
        yield _finding(case, track, is_loss=False)


def _turned(case: Case, track: Track) -> bool:
    """Whether a metric was finite at first and often is not later. Some are undefined from the start."""
    seen = track.not_finite
    return track.finite_count >= 3 and seen.nan + seen.inf >= max(3, case.limit(SLUG, "share") * len(track))


def _finding(case: Case, track: Track, *, is_loss: bool) -> Finding:
    seen = track.not_finite
    wrong = seen.nan + seen.inf
    what = "NaN" if seen.nan >= seen.inf else "infinite"
    if seen.in_a_row == wrong and wrong > 1:
        where = f"from step {seen.first_step:,} to the end ({count(wrong, 'point')})"
    else:
        where = f"at {wrong:,} of {len(track):,} points, first at step {seen.first_step:,}"
    return case.finding(
        SLUG,
        _severity(case, track, is_loss=is_loss),
        track,
        f"{track.tag} is {what} {where}.",
        first_step=seen.first_step,
        last_step=seen.last_step,
        evidence=[Evidence(track.tag, "points that are not finite", wrong, 0, seen.first_step)],
    )


def _severity(case: Case, track: Track, *, is_loss: bool) -> Severity:
    seen = track.not_finite
    wrong = seen.nan + seen.inf
    persists = seen.in_a_row >= min(3, len(track)) or seen.longest_row >= case.limit(SLUG, "in_a_row")
    if is_loss:
        if persists or (seen.in_a_row > 0 and len(track) >= 3):
            return "critical"
        # A point or two that recovered at once cost only a batch.
        return "warning" if wrong >= case.limit(SLUG, "few") * len(track) and wrong > 1 else "info"
    if wrong == len(track) and wrong >= 3:
        return "critical" if track in case.every("rl.return") else "warning"
    return "warning" if wrong >= case.limit(SLUG, "share") * len(track) and wrong >= 3 else "info"
