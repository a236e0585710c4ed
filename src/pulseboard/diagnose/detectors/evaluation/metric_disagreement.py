"""Metric disagreement: the validation loss improves and the score does not, or vice versa."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.track import Floats


@detector(id="metric-disagreement", reads=("val.loss", "val.accuracy"))
def metric_disagreement(case: Case) -> Iterator[Finding]:
    """The rank correlation of the falling loss and the rising score, over evaluations that have both."""
    loss, score = case.need("val.loss", points=20), case.need("val.accuracy", points=20)
    common, at_loss, at_score = np.intersect1d(loss.points().steps, score.points().steps, return_indices=True)
    if len(common) < 20:
        return
    correlation = _rank_correlation(-loss.points().values[at_loss], score.points().values[at_score])
    limit = case.limit("metric-disagreement", "correlation")
    if correlation >= limit:
        return
    yield case.finding(
        "metric-disagreement",
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
