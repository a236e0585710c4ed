"""NaN masked: the loss is logged as 0 while gradients are NaN or infinite."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="nan-masked", reads=("train.loss", "gradient.norm"))
def nan_masked(case: Case) -> Iterator[Finding]:
    """A loss of exactly 0 together with a gradient norm that is not finite."""
    loss, gradient = case.need("train.loss"), case.need("gradient.norm")
    wrong, zeros = gradient.not_finite, loss.longest_streak
    if not wrong or zeros is None or zeros.value != 0.0:
        return
    if wrong.first_step is None or wrong.last_step is None:
        return
    if wrong.last_step < zeros.first_step or wrong.first_step > zeros.last_step:
        return
    first = max(wrong.first_step, zeros.first_step)
    yield case.finding(
        "nan-masked",
        "critical",
        loss,
        f"{loss.tag} is exactly 0 from step {zeros.first_step:,} while {gradient.tag} is not finite: a NaN is hidden.",
        first_step=first,
        last_step=zeros.last_step,
        evidence=[
            Evidence(loss.tag, "points in a row that are exactly 0", zeros.length, 0, zeros.first_step),
            Evidence(gradient.tag, "points that are not finite", wrong.nan + wrong.inf, 0, wrong.first_step),
        ],
    )
