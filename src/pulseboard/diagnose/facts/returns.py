"""Returns: the series that shows best what a policy earns."""

from __future__ import annotations

from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.roles.words import words_of
from pulseboard.diagnose.track import Track

_MEAN = {"mean", "avg", "average", "cumulative", "total", "episode", "ep"}


def main_return(case: Case, *, points: int) -> Track:
    """The return with the most points, preferring a mean over episodes. TooShort if none has enough."""
    tracks = case.every("rl.return")
    most = max(track.finite_count for track in tracks)
    if most < points:
        raise TooShort(f"{tracks[0].tag!r} has {most} of the {points} points this needs")
    long = [track for track in tracks if track.finite_count >= 0.8 * most]
    return max(long, key=lambda track: (bool(_MEAN & set(words_of(track.tag).every)), -len(words_of(track.tag).every)))
