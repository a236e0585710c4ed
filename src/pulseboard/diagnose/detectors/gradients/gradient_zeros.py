"""Gradient zeros: a large part of the model gets no gradient."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pulseboard.core.finding import Evidence, Finding
from pulseboard.diagnose.case import Case
from pulseboard.diagnose.detector import detector
from pulseboard.diagnose.phrases import percent
from pulseboard.diagnose.track import Track


@detector(id="gradient-zeros", reads="gradient.zero_share|gradient.none_share")
def gradient_zeros(case: Case) -> Iterator[Finding]:
    """The share of zeros, and of parameters without a gradient. Critical if almost nothing gets one."""
    if case.context.frozen_on_purpose:
        return
    none, zero = _level(case.one("gradient.none_share")), _level(case.one("gradient.zero_share"))
    if none is not None:
        none = max(none, _frozen_share(case))
    limit, severe = case.limit("gradient-zeros", "share"), case.limit("gradient-zeros", "severe_share")
    parts = [(level, role) for level, role in ((none, "gradient.none_share"), (zero, "gradient.zero_share")) if level]
    if not parts:
        return
    level, role = max(parts)
    if level <= limit:
        return
    track = case.one(role)
    assert track is not None
    what = (
        "of the parameters get no gradient at all"
        if role == "gradient.none_share"
        else "of the gradient values are exactly 0"
    )
    steps, values = track.points(most=512)
    high = values > limit
    yield case.finding(
        "gradient-zeros",
        "critical" if level > severe else "warning",
        track,
        f"{percent(level)} {what} ({track.tag}).",
        first_step=int(steps[int(np.argmax(high))]),
        evidence=[Evidence(track.tag, "median share", level, limit, int(steps[-1]))],
    )


def _level(track: Track | None) -> float | None:
    if track is None or len(track) < 1:
        return None
    values = track.points().values
    return float(np.median(values[-20:])) if len(values) else None


def _frozen_share(case: Case) -> float:
    """The share of parameters that are not trained, unless the config says that this is intended."""
    config = case.context.config
    if any(word in key.lower() for key in config for word in ("lora", "peft", "adapter", "freeze", "frozen")):
        return 0.0
    numbers = {key.rsplit(".", 1)[-1]: value for key, value in config.items() if isinstance(value, int | float)}
    whole = numbers.get("parameters", 0)
    trained = numbers.get("trained_parameters", numbers.get("trainable_parameters", whole))
    return 1.0 - trained / whole if whole > 0 else 0.0
