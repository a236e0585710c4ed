"""Writes finished series as one event file, with their configuration and without rounding."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pulseboard.core.series import Series
from pulseboard.record.event_log.event_file_writer import EventFileWriter
from pulseboard.tbformat import event
from pulseboard.tbformat.codecs.hparams import HParam, encode_hparams
from pulseboard.tbformat.codecs.scalar import encode_scalar_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_WALL_TIME = 0.0
"""In an event file: the wall time is not known. Writers without a clock leave it at this."""

_Key = tuple[int, float, int]  # step, wall time, and a counter for points that share both


def write_series(
    directory: str | os.PathLike[str],
    *,
    series: Iterable[Series],
    config: Mapping[str, HParam | None] | None = None,
    others: Iterable[bytes] = (),
) -> str:
    """Write a new event file to `directory` and return its path. Raises OSError, and then leaves no file behind.

    `others` are encoded Events, which are written after the series.

    Points with the same step and wall time share an Event. A tag whose values are all exact in float32 is written in
    the usual form, other tags as double tensors.
    """
    file = EventFileWriter(directory, buffered=False, strict=True)
    try:
        if config:
            hparams = encode_hparams(config, metrics=())
            file.record(event.summary_event(*hparams, step=0, wall_time=NO_WALL_TIME))
        for step, wall_time, values in _events(list(series)):
            if len(values) == sum(exact for _, exact in values.values()):
                file.scalars({tag: value for tag, (value, _) in values.items()}, step, wall_time, _refuse)
            else:
                encoded = [
                    encode_scalar_value(tag, value=value, form="simple" if exact else "double_tensor")
                    for tag, (value, exact) in values.items()
                ]
                file.record(event.summary_event(*encoded, step=step, wall_time=wall_time))
        for one in others:
            file.record(one)
        file.close()
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(file.path)
        raise
    return file.path


def _refuse(value: Any) -> None:
    raise AssertionError(f"a series holds {value!r}, which is not a number")


def _events(series: list[Series]) -> Iterator[tuple[int, float, dict[str, tuple[float, bool]]]]:
    """(step, wall time, tag -> (value, whether float32 is exact)) of each Event, in order."""
    import numpy as np

    shared: dict[_Key, dict[str, tuple[float, bool]]] = {}
    unordered: list[tuple[Series, NDArray[Any], bool]] = []
    for one in series:
        walls = np.where(np.isfinite(one.wall_times), one.wall_times, NO_WALL_TIME)
        exact = _exact_in_float32(one.values)
        if _in_order(one.steps, walls):
            for key, value in zip(_keys(one.steps.tolist(), walls.tolist()), one.values.tolist(), strict=True):
                shared.setdefault(key, {})[one.tag] = (value, exact)
        else:
            unordered.append((one, walls, exact))
    for step, wall_time, nth in sorted(shared):
        yield step, wall_time, shared[step, wall_time, nth]
    # Series whose steps go back cannot be merged with the others: each keeps its own order.
    for one, walls, exact in unordered:
        for step, wall_time, value in zip(one.steps.tolist(), walls.tolist(), one.values.tolist(), strict=True):
            yield step, wall_time, {one.tag: (value, exact)}


def _keys(steps: list[int], walls: list[float]) -> Iterator[_Key]:
    nth, previous = 0, None
    for point in zip(steps, walls, strict=True):
        nth = nth + 1 if point == previous else 0
        previous = point
        yield (*point, nth)


def _in_order(steps: NDArray[Any], walls: NDArray[Any]) -> bool:
    """Whether points are sorted by step, and points of the same step by wall time."""
    import numpy as np

    rise = np.diff(steps)
    return bool(((rise > 0) | ((rise == 0) & (np.diff(walls) >= 0))).all())


def _exact_in_float32(values: NDArray[Any]) -> bool:
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        rounded = values.astype(np.float32).astype(np.float64)
    return bool(((rounded == values) | np.isnan(values)).all())
