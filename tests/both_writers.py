"""The same calls to torch's SummaryWriter and to ours, and what each wrote."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image
from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
from torch.utils import tensorboard as torch_tensorboard

from pulseboard.record.compat.summary_writer import SummaryWriter

Calls = Callable[[Any], None]


class Both(NamedTuple):
    """Events by run; the run's directory is relative to the writer's."""

    torch: dict[str, list[Any]]
    ours: dict[str, list[Any]]


def call_both(directory: Path, calls: Calls, **arguments: Any) -> Both:
    """Make the calls on both writers and read what they wrote. Wall times are set to 0."""
    found = []
    for name, writer_class in (("torch", torch_tensorboard.SummaryWriter), ("ours", SummaryWriter)):
        with writer_class(str(directory / name), **arguments) as writer:
            calls(writer)
        events = events_in(directory / name)
        for event in (event for run in events.values() for event in run):
            event.wall_time = 0
        found.append(events)
    return Both(*found)


def events_in(directory: Path) -> dict[str, list[Any]]:
    """The events in a directory by run, without the version records."""
    found: dict[str, list[Any]] = {}
    for path in sorted(directory.rglob("*tfevents*")):
        events = [event for event in LegacyEventFileLoader(str(path)).Load() if not event.file_version]
        found.setdefault(str(path.parent.relative_to(directory)), []).extend(events)
    return found


def values_of(events: dict[str, list[Any]], run: str = ".") -> list[Any]:
    """A run's Summary.Values, in order."""
    return [value for event in events[run] for value in event.summary.value]


def pixels_of(value: Any) -> np.ndarray:
    """The pixels of a Summary.Value with an image."""
    return np.asarray(Image.open(io.BytesIO(value.image.encoded_image_string)))
