"""A run that is over, written as one event file: its series and its configuration, with nothing rounded."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pulseboard.core.series import Series
from pulseboard.files import event
from pulseboard.files.hparams import HParam, encode_hparams
from pulseboard.files.scalar import encode_scalar_value
from pulseboard.record.event_file import EventFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_WALL_TIME = 0.0
"""Stands in the event file for a wall time that is not known: writers without a clock leave it so."""

_Key = tuple[int, float, int]  # step, wall time, and which of those that share them


def write_series(
    directory: str | os.PathLike[str], *, series: Iterable[Series], config: Mapping[str, HParam | None] | None = None
) -> str:
    """Write a new event file to `directory`; its path. Raises OSError, and then leaves no file behind.

    Points of one step and one moment share an Event. A tag whose values all fit a float of 32 bits is
    written in the usual form, another as tensors of doubles.
    """
    file = EventFile(directory, buffered=False, strict=True)
    try:
        if config:
            about = encode_hparams(config, metrics=())
            file.record(event.summary_event(*about, step=0, wall_time=NO_WALL_TIME))
        for step, wall_time, values in _events(list(series)):
            if len(values) == sum(exact for _, exact in values.values()):
                file.scalars({tag: value for tag, (value, _) in values.items()}, step, wall_time, _refuse)
            else:
                encoded = [
                    encode_scalar_value(tag, value=value, form="simple" if exact else "double_tensor")
                    for tag, (value, exact) in values.items()
                ]
                file.record(event.summary_event(*encoded, step=step, wall_time=wall_time))
        file.close()
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(file.path)
        raise
    return file.path


def _refuse(value: Any) -> None:
    raise AssertionError(f"a series holds {value!r}, which is no number")


def _events(series: list[Series]) -> Iterator[tuple[int, float, dict[str, tuple[float, bool]]]]:
    """(step, wall time, tag -> (value, whether 32 bits hold it)) of each Event, in order."""
    import numpy as np

    together: dict[_Key, dict[str, tuple[float, bool]]] = {}
    alone: list[tuple[Series, NDArray[Any], bool]] = []
    for one in series:
        walls = np.where(np.isfinite(one.wall_times), one.wall_times, NO_WALL_TIME)
        exact = _fits(one.values)
        if _rises(one.steps, walls):
            for key, value in zip(_keys(one.steps.tolist(), walls.tolist()), one.values.tolist(), strict=True):
                together.setdefault(key, {})[one.tag] = (value, exact)
        else:
            alone.append((one, walls, exact))
    for step, wall_time, nth in sorted(together):
        yield step, wall_time, together[step, wall_time, nth]
    # Whose steps fall cannot be put in one order with the others: they keep their own.
    for one, walls, exact in alone:
        for step, wall_time, value in zip(one.steps.tolist(), walls.tolist(), one.values.tolist(), strict=True):
            yield step, wall_time, {one.tag: (value, exact)}


def _keys(steps: list[int], walls: list[float]) -> Iterator[_Key]:
    nth, before = 0, None
    for at in zip(steps, walls, strict=True):
        nth = nth + 1 if at == before else 0
        before = at
        yield (*at, nth)


def _rises(steps: NDArray[Any], walls: NDArray[Any]) -> bool:
    """Whether points are in order of step, and those of one step in order of time."""
    import numpy as np

    rise = np.diff(steps)
    return bool(((rise > 0) | ((rise == 0) & (np.diff(walls) >= 0))).all())


def _fits(values: NDArray[Any]) -> bool:
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        rounded = values.astype(np.float32).astype(np.float64)
    return bool(((rounded == values) | np.isnan(values)).all())
