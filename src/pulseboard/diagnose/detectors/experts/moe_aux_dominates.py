"""MoE aux dominates: the load-balancing loss is too large a part of the training loss."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import number, percent


@detector(id="moe-aux-dominates", reads=("moe.aux_loss", "train.loss"))
def moe_aux_dominates(case: Case) -> Iterator[Finding]:
    """The balancing loss relative to the training loss, at the end of the run."""
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
        f"{aux.tag} is {number(level)}, which is {percent(level / main)} of {loss.tag} ({number(main)}).",
        evidence=[Evidence(aux.tag, "share of the training loss", level / main, limit)],
    )
