"""Loss flat: the loss has not moved at all."""

from __future__ import annotations

from collections.abc import Iterator

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.detectors.lr_zero import lr_zero
from pulseboard.diagnose.detectors.update_too_small import update_too_small
from pulseboard.diagnose.detectors.weights_frozen import weights_frozen
from pulseboard.diagnose.statistics.improvement import improvement


@detector(id="loss-flat", reads="train.loss")
def loss_flat(case: Case) -> Iterator[Finding]:
    """No fall beyond noise from the first third to the last; critical where updates are missing too."""
    loss = case.need("train.loss", points=int(case.limit("loss-flat", "points")))
    change = improvement(loss.points(most=512))
    if change is None or change.z >= case.limit("loss-flat", "z"):
        return
    if change.share > case.limit("loss-flat", "share") or change.share < -case.limit("loss-flat", "share"):
        return
    head = loss.head.values
    # A loss that fell before the second point was logged is flat for another reason.
    if len(head) and head[0] > change.last * (1 + 2 * case.limit("loss-flat", "share")):
        return
    still = _updates_missing(case)
    # A loss that is nearly nothing has no way left to fall.
    if not still and abs(change.last) < case.limit("loss-flat", "floor"):
        return
    yield case.finding(
        "loss-flat",
        "critical" if still else "warning",
        loss,
        f"{loss.tag} was {change.first:.4g} in the first third of the run and is {change.last:.4g} in the last"
        + (f": {still}." if still else ": nothing was learned."),
        evidence=[
            Evidence(loss.tag, "fall in standard errors", change.z, case.limit("loss-flat", "z")),
            Evidence(loss.tag, "fall as a share", change.share, case.limit("loss-flat", "share")),
        ],
    )


def _updates_missing(case: Case) -> str:
    if case.one("update.ratio") is not None:
        if any(weights_frozen(case)):
            return "no update changes the weights"
        if len(case.need("update.ratio")) >= 3 and any(update_too_small(case)):
            return "updates are far too small"
    if case.one("lr") is not None and any(lr_zero(case)):
        return "the learning rate is 0"
    return ""
