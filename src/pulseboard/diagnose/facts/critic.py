"""The critic of a policy: which of the losses are those of value estimates."""

from __future__ import annotations

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.roles.words import words_of
from pulseboard.diagnose.track import Track

_CRITIC = frozenset("value critic q qf qf1 qf2 q1 q2 td v vf".split())
_POLICY = frozenset("policy actor pi surrogate entropy alpha kl".split())


def critic_losses(case: Case) -> list[Track]:
    """The losses of value estimates. Without any policy loss, the one loss there is counts as such."""
    tracks = case.every("rl.loss")
    named = [track for track in tracks if words_of(track.tag).rest & _CRITIC]
    policies = [track for track in tracks if words_of(track.tag).rest & _POLICY]
    return named or ([] if policies else tracks)
