"""Perplexity: where one is logged that is the exponential of a loss, the loss is a cross-entropy over words."""

from __future__ import annotations

import numpy as np

from pulseboard.diagnose.case import Case
from pulseboard.diagnose.facts.fact import Fact, fact
from pulseboard.diagnose.roles.words import words_of
from pulseboard.diagnose.track import Track

_NAMES = frozenset({"ppl", "perplexity"})
_NEAR = 0.05
_LEAST_POINTS = 3
_MOST_LOSS = 50.0  # nats; scripts cap the exponent


@fact("predicts-words")
def predicts_words(case: Case) -> Fact[bool]:
    """True if a perplexity is logged and is the exponential of a loss; unknown otherwise."""
    perplexities = [track for tag, track in case.tracks.items() if words_of(tag).rest & _NAMES]
    losses = [track for role in ("train.loss", "val.loss") for track in case.every(role)]
    for track in perplexities:
        for loss in losses:
            if _is_exponential(track, loss):
                return Fact(True, 0.9, (track.tag, loss.tag), "the perplexity is the exponential of the loss")
    return Fact(None, why="no perplexity is logged")


def _is_exponential(perplexity: Track, loss: Track) -> bool:
    a, b = perplexity.points(most=256), loss.points(most=256)
    if len(a.values) < _LEAST_POINTS or len(a.steps) != len(b.steps) or not (a.steps == b.steps).all():
        return False
    off = np.abs(a.values / np.exp(np.minimum(b.values, _MOST_LOSS)) - 1)
    return float(np.median(off)) < _NEAR
