"""Event files with one long series, for tests that need thousands of points."""

import numpy as np
from builders import event_file, version

from pulseboard.kernel.writer import EventWriter


def write_series(path, steps, values, *, tag="loss", wall_times=None):
    """Write an event file with one scalar series, using the kernel's writer. Returns its path."""
    writer = EventWriter()
    walls = np.arange(len(steps)) * 0.5 + 1e9 if wall_times is None else wall_times
    for step, value, wall in zip(steps, values, walls, strict=True):
        writer.scalars({tag: float(value)}, int(step), float(wall), None)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(event_file(version()) + writer.take())
    return path
