"""Evaluation nondeterministic: one batch evaluated twice gives two different losses."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="eval-nondeterministic", reads="probe.eval_twice")
def eval_nondeterministic(case: Case) -> Iterator[Finding]:
    """A difference larger than the order of floating-point sums can cause."""
    probe = case.need("probe.eval_twice", points=2)
    limit = case.limit("eval-nondeterministic", "difference")
    if probe.high <= limit:
        return
    yield case.finding(
        "eval-nondeterministic",
        "warning",
        probe,
        f"Two evaluations of the same batch differ by {probe.high:.3g} ({probe.tag}).",
        evidence=[Evidence(probe.tag, "largest difference", probe.high, limit, on_curve=True)],
    )
