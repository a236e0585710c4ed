"""MoE aux dominates: balancing the experts weighs more than the task."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="moe-aux-dominates", reads=("moe.aux_loss", "train.loss"))
def moe_aux_dominates(case: Case) -> Iterator[Finding]:
    """The balancing loss over the whole, by the last part of the run."""
    aux, loss = case.need("moe.aux_loss", points=5), case.need("train.loss", points=5)
    level = float(np.median(aux.points(most=256).values[-10:]))
    main = float(np.median(loss.points(most=256).values[-10:]))
    limit = case.limit("moe-aux-dominates", "share")
    if main <= 0 or level <= limit * main:
        return
    yield case.finding(
        "moe-aux-dominates",
        "info",
        aux,
        f"{aux.tag} is {level:.3g}, {100 * level / main:.0f} % of {loss.tag}.",
        evidence=[Evidence(aux.tag, "share of the training loss", level / main, limit)],
    )
