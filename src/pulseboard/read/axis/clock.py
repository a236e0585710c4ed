"""Series on different axes, put on one clock: a loss per step and a validation per epoch on the same steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from pulseboard.core.series import Series
from pulseboard.read.axis.info import AxisInfo

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

How = Literal["same axis", "epochs", "wall time", "counted"]
_EPOCH_TAG_PREFIX = "epoch_"


@dataclass(frozen=True, slots=True)
class Placed:
    """A series with steps of another axis, and how they were found.

    same axis  nothing had to be done
    epochs     each epoch ends at the step where the log says so: by its count of epochs, or its steps per epoch
    wall time  the step that the other series had reached at the wall time of each point
    counted    the epochs were spread evenly over the steps; a guess, used if the log says nothing better
    """

    series: Series
    how: How


def axis_of(tag: str, series: Series | None, axis: AxisInfo) -> AxisInfo:
    """The axis of one series of a run. Keras logs `epoch_loss` per epoch among tags that it logs per step."""
    if axis.kind != "step" or series is None or not names_epochs(tag) or len(series) < 2:
        return axis
    return AxisInfo("epoch", steps_per_epoch=1.0) if bool((np.diff(series.steps) == 1).all()) else axis


def names_epochs(tag: str) -> bool:
    """Whether the steps of a tag may be epochs, by its name."""
    return tag.rpartition("/")[2].startswith(_EPOCH_TAG_PREFIX)


def put_on(
    reference: Series, series: Series, *, axis: AxisInfo, reference_axis: AxisInfo, epochs: Series | None = None
) -> Placed | None:
    """The series with steps on the axis of the reference. None if the log does not say where its points belong.

    `epochs` is the count of epochs on the axis of the reference, if it was logged. Steps never fall where those of
    the series rise, and they stay within those of the reference.
    """
    if axis.kind == reference_axis.kind:
        return Placed(series, "same axis")
    if not len(reference) or not len(series):
        return None
    if axis.kind == "epoch" and reference_axis.kind != "row":
        # The axis of a table of epochs may count parts of them.
        numbers = series.steps / (axis.steps_per_epoch or 1.0)
        steps = _ends_of(numbers, epochs) if epochs is not None and len(epochs) else None
        per_epoch = reference_axis.steps_per_epoch
        if steps is None and per_epoch is not None and reference_axis.kind != "epoch":
            steps = _completed(numbers) * per_epoch
        if steps is not None:
            return Placed(_with_steps(series, steps, reference), "epochs")
    if (steps := _at_wall_times(reference, series)) is not None:
        return Placed(_with_steps(series, steps, reference), "wall time")
    if axis.kind == "epoch":
        completed = _completed(series.steps / (axis.steps_per_epoch or 1.0))
        first, last = float(reference.steps.min()), float(reference.steps.max())
        steps = first + (last - first) * completed / float(completed.max())
        return Placed(_with_steps(series, steps, reference), "counted")
    return None


def _completed(epochs: Floats) -> Floats:
    """How many epochs have ended at each point. A log counts its first epoch as 0 or as 1."""
    return epochs + 1.0 if epochs.min() < 1.0 else epochs


def _ends_of(numbers: Floats, epochs: Series) -> Floats | None:
    """The last step of each epoch, from the count of epochs at the steps; None if that count has gaps or falls."""
    order = np.argsort(epochs.steps, kind="stable")
    steps, counts = epochs.steps[order].astype(np.float64), epochs.values[order]
    if not np.isfinite(counts).all() or (np.diff(counts) < 0).any() or counts[0] == counts[-1]:
        return None
    if (counts == np.floor(counts)).all():
        # Both count the same epochs; one of them may begin at 0 and the other at 1.
        shift = _completed(numbers)[0] - numbers[0] - (_completed(counts)[0] - counts[0])
        wanted = numbers + shift
        at = np.searchsorted(counts, wanted, "right") - 1
        ends: Floats = steps[np.maximum(at, 0)]
        return ends
    # Fractions: an epoch has ended where the count reaches the next whole number.
    return np.interp(_completed(numbers), counts, steps)


def _at_wall_times(reference: Series, series: Series) -> Floats | None:
    known = np.isfinite(reference.wall_times)
    if not known.any() or not np.isfinite(series.wall_times).all():
        return None
    times, steps = reference.wall_times[known], reference.steps[known].astype(np.float64)
    order = np.argsort(times, kind="stable")
    if times.min() == times.max() or series.wall_times.max() < times.min() or series.wall_times.min() > times.max() + 1:
        # Copied files, or two trainings at different times.
        return None
    return np.interp(series.wall_times, times[order], steps[order])


def _with_steps(series: Series, steps: Floats, reference: Series) -> Series:
    low, high = reference.steps.min(), reference.steps.max()
    placed = np.clip(np.rint(steps), low, high).astype(np.int64)
    return Series(series.tag, placed, series.wall_times, series.values, series.orphaned)
