"""The plan of a run: what its configuration states, compared with the curves. Names propose, values dispose.

A configuration states steps or epochs, and a log counts steps, epochs, or calls of its logger. A plan in the wrong unit
would make a finished run look as if it had just begun, so one that the steps do not confirm is not used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from pulseboard.core.plural import plural
from pulseboard.diagnose.context import Context, Stated
from pulseboard.diagnose.roles.reading import Reading
from pulseboard.diagnose.track import Track
from pulseboard.read.axis.info import AxisInfo
from pulseboard.read.axis.names import EPOCH_NAMES, plain

# Trainings log a little beyond the plan: a last evaluation, or the rest of an epoch.
_BEYOND = 1.02
# A foreign plan in steps is believed only if the log got this far, or if its steps cannot be calls of a logger.
_FAR = 0.5
# "Until I stop it", as people write it.
_FOREVER = 10**12
_MIN_POINTS = 4
# Steps per epoch are measured over at least this many epochs.
_MIN_EPOCHS = 2.0
# A log of three steps may end at step 3 for other reasons than a plan of three epochs.
_MIN_COINCIDENCE = 5
# The first loss of a model that chooses among N answers, relative to ln N: averages over the first epoch are lower.
_FIRST_LOSS = (0.5, 1.6)


def settled(
    context: Context, tracks: Mapping[str, Track], reading: Reading, axis: AxisInfo | None, *, ended: bool
) -> Context:
    """The context with a plan in steps of the log, without anything that the curves contradict."""
    clock = _clock(tracks, reading)
    planned, doubts = context.planned_steps, list[str]()
    if clock is not None:
        planned, doubts = _plan(context, clock, tracks, axis, ended=ended)
    choices = context.choices
    if choices is None and context.stated_choices is not None:
        choices = _confirmed_choices(context.stated_choices.value, tracks, reading)
    return replace(context, planned_steps=planned, choices=choices, doubts=(*context.doubts, *doubts))


def _clock(tracks: Mapping[str, Track], reading: Reading) -> Track | None:
    """The series whose steps are compared with the plan."""
    tags = (tag for role in ("train.loss", "rl.return", "val.loss") if (tag := reading.first(role)) is not None)
    named = next((tracks[tag] for tag in tags if tag in tracks and len(tracks[tag])), None)
    return named or max((one for one in tracks.values() if len(one)), key=lambda one: one.last_step or 0, default=None)


def _plan(
    context: Context, clock: Track, tracks: Mapping[str, Track], axis: AxisInfo | None, *, ended: bool
) -> tuple[int | None, list[str]]:
    steps, epochs = context.stated_steps, context.stated_epochs
    planned: int | None = None
    reasons: list[str] = []
    if steps is not None:
        planned, why = _in_steps(steps, clock, tracks, axis)
        reasons += [f"The plan of {plural(steps.value, 'step')} ({steps.where}) is not used: {why}."]
    if planned is None and epochs is not None:
        planned, why = _in_epochs(epochs, clock, tracks, axis)
        if planned is None and steps is None and ended and _ends_at(epochs.value, clock):
            planned = clock.last_step
        reasons.append(f"The plan of {plural(epochs.value, 'epoch')} ({epochs.where}) is not used: {why}.")
    # A run that has hardly begun says nothing about its plan.
    return planned, [] if planned is not None or clock.finite_count < _MIN_POINTS else reasons


def _in_steps(
    stated: Stated, clock: Track, tracks: Mapping[str, Track], axis: AxisInfo | None
) -> tuple[int | None, str]:
    last = clock.last_step or 0
    if stated.value >= _FOREVER:
        return None, "it has no end"
    if axis is not None and axis.kind in ("epoch", "row"):
        return None, f"this log counts {'epochs' if axis.kind == 'epoch' else 'rows'}"
    if last > _BEYOND * stated.value + 1:
        return None, f"the log continues to step {last:,}"
    if not stated.is_own and _end(tracks) > _BEYOND * stated.value + 1:
        return None, f"the log continues to step {_end(tracks):,}"
    if not stated.is_own and last < _FAR * stated.value and _is_consecutive(clock):
        return None, f"the log ends at step {last:,} and may count something else"
    return stated.value, ""


def _in_epochs(
    stated: Stated, clock: Track, tracks: Mapping[str, Track], axis: AxisInfo | None
) -> tuple[int | None, str]:
    last = clock.last_step or 0
    per_epoch = axis.steps_per_epoch if axis is not None and axis.kind in ("epoch", "epoch x iteration") else None
    if axis is not None and axis.kind == "epoch":
        per_epoch = per_epoch or 1.0
    if per_epoch is None:
        measured = _steps_per_epoch(tracks, clock)
        if measured is not None:
            per_epoch, reached = measured
            if reached > stated.value + 0.5:
                return None, f"the log continues to epoch {reached:.0f}"
    if per_epoch is not None:
        planned = round(stated.value * per_epoch)
        if last > max(_BEYOND * planned, planned + per_epoch):
            return None, f"the log continues to step {last:,}, about epoch {last / per_epoch:.0f}"
        if _end(tracks) > _BEYOND * max(planned, last) + per_epoch:
            return None, f"the log continues to step {_end(tracks):,}"
        return max(planned, last, 1), ""
    return None, "the log does not say how long an epoch is"


def _ends_at(epochs: int, clock: Track) -> bool:
    """Whether the steps go up by one and end at a number of epochs. Then they are epochs, unless there are few."""
    return epochs >= _MIN_COINCIDENCE and clock.last_step in (epochs - 1, epochs) and _is_consecutive(clock)


def _steps_per_epoch(tracks: Mapping[str, Track], clock: Track) -> tuple[float, float] | None:
    """(steps per epoch, last epoch) by a logged count of epochs on the same axis; None if there is none."""
    counts = [track for tag, track in tracks.items() if plain(tag) in EPOCH_NAMES and track.finite_count >= 3]
    for count in counts:
        steps, epochs = count.points(most=1024)
        # Where a count of whole epochs goes up, one begins; in between it says nothing.
        begins = np.flatnonzero(np.diff(epochs) > 0) + 1
        if len(begins) < 2:
            continue
        first, last = int(begins[0]), int(begins[-1])
        rise, span = float(epochs[last] - epochs[first]), float(steps[last] - steps[first])
        same_axis = (clock.last_step or 0) <= 1.5 * steps[-1] + 1
        if rise < _MIN_EPOCHS or span <= 0 or (np.diff(epochs) < 0).any() or not same_axis:
            continue
        return span / rise, float(epochs[-1])
    return None


def _end(tracks: Mapping[str, Track]) -> int:
    """The last step of any series: a file may hold more than one training."""
    return max((track.last_step or 0 for track in tracks.values() if len(track)), default=0)


def _is_consecutive(track: Track) -> bool:
    """Whether the steps go up by one: they may count epochs, or calls of a logger."""
    steps = track.points().steps
    return len(steps) > 1 and bool((np.diff(steps[:256]) == 1).mean() > 0.9)


def _confirmed_choices(choices: int, tracks: Mapping[str, Track], reading: Reading) -> int | None:
    """The number of choices, if the loss starts as a cross-entropy over so many does. Others are something else."""
    tag = reading.first("train.loss")
    loss = tracks.get(tag) if tag is not None else None
    if loss is None or choices < 2 or not len(loss.head.values) or tag in reading.maximized:
        return None
    low, high = _FIRST_LOSS
    first = float(loss.head.values[0])
    return choices if loss.low >= 0 and low * math.log(choices) <= first <= high * math.log(choices) else None
