"""Initial loss off: the first loss is far above that of a guess."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector


@detector(id="initial-loss-off", reads="train.loss", needs=("choices",))
def initial_loss_off(case: Case) -> Iterator[Finding]:
    """The first point, where it was logged in the first steps."""
    loss = case.need("train.loss")
    guess = case.context.guess_loss
    assert guess is not None
    steps, values = loss.head
    if steps[0] > case.limit("initial-loss-off", "first_steps"):
        return
    limit = case.limit("initial-loss-off", "times_guess") * guess
    if not values[0] > limit:
        return
    yield case.finding(
        "initial-loss-off",
        "warning",
        loss,
        f"{loss.tag} begins at {values[0]:.4g}; before anything is learned it should be near {guess:.4g}.",
        first_step=int(steps[0]),
        last_step=int(steps[0]),
        evidence=[Evidence(loss.tag, "first value", float(values[0]), limit, int(steps[0]))],
    )
