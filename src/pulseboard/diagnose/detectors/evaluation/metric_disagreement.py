"""Metric disagreement: the validation loss improves and the score does not, or two scores exclude each other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case, TooShort
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.facts.scores import contradiction, scale_of
from pulseboard.diagnose.phrases import percent
from pulseboard.diagnose.track import Floats

SLUG = "metric-disagreement"
_EVALUATIONS = 20


@detector(id=SLUG, reads="val.accuracy|train.accuracy")
def metric_disagreement(case: Case) -> Iterator[Finding]:
    """The rank correlation of the falling loss and the rising score, over evaluations that have both."""
    if (pair := contradiction(case)) is not None:
        perfect, zero = pair
        yield case.finding(
            SLUG,
            "warning",
            zero,
            f"{zero.tag} is 0 and {perfect.tag} is {percent(perfect.low * scale_of(perfect))} at every evaluation: "
            "there are no positive examples, or one of the two is computed wrongly.",
            evidence=[Evidence(zero.tag, "where every answer is right", 0.0, None, on_curve=True)],
        )
        return
    loss, score = case.one("val.loss"), case.one("val.accuracy")
    if loss is None or score is None or min(loss.finite_count, score.finite_count) < _EVALUATIONS:
        raise TooShort(f"needs {_EVALUATIONS} evaluations of a validation loss and a score")
    common, at_loss, at_score = np.intersect1d(loss.points().steps, score.points().steps, return_indices=True)
    if len(common) < _EVALUATIONS:
        return
    correlation = _rank_correlation(-loss.points().values[at_loss], score.points().values[at_score])
    limit = case.limit(SLUG, "correlation")
    if correlation >= limit:
        return
    yield case.finding(
        SLUG,
        "info",
        score,
        f"{score.tag} does not follow {loss.tag}: their rank correlation is {correlation:.2f}.",
        first_step=int(common[0]),
        evidence=[Evidence(score.tag, "rank correlation with the falling loss", correlation, limit)],
    )


def _rank_correlation(a: Floats, b: Floats) -> float:
    first, second = (np.argsort(np.argsort(x)).astype(np.float64) for x in (a, b))
    if first.std() == 0 or second.std() == 0 or len(np.unique(b)) < 3:
        return 1.0
    return float(np.corrcoef(first, second)[0, 1])
