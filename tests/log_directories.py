"""Small log directories for tests, and everything that was read of one, so that two can be compared."""

from pathlib import Path

import numpy as np
from builders import event_file, scalars, version

import pulseboard as pb


def write_run(directory, *points, tag="loss", name="events.out.tfevents.1", wall_time=0.0):
    """Write a run of one file: the version record, then a scalar for each (step, value). Returns the file."""
    events = scalars(tag, *(points or [(0, 0.0)]))
    for event in events:
        event.wall_time += wall_time
    path = Path(directory) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(event_file(version(), *events))
    return path


def append(path, *points, tag="loss"):
    """Append scalars to a file."""
    with Path(path).open("ab") as stream:
        stream.write(event_file(*scalars(tag, *points)))


def values(run, tag="loss"):
    """The values of a tag, as a list."""
    return run.series(tag).values.tolist()


def all_of(runs):
    """Everything that was read, as plain data."""
    return {"runs": [_run(run) for run in runs.values()], "notes": sorted(map(str, runs.notes()))}


def matches_fresh_read(runs):
    """Whether runs that were kept up to date equal the same runs read from scratch."""
    return all_of(runs) == all_of(pb.read(*(directory.path for directory in runs.log_directories)))


def _run(run):
    return {
        "name": run.name,
        "aliases": run.aliases,
        "directory": run.directory,
        "files": [file.path for file in run.files],
        "size": run.size_bytes,
        "points": run.points,
        "active": (str(run.started), str(run.ended)),
        "restarts": [tuple(restart) for restart in run.restarts()],
        "tags": [_tag(run, info) for info in run.infos().values()],
        "stats": [str(stats) for stats in run.stats()],
        "ranks": {number: _run(rank) for number, rank in run.ranks.items() if rank is not run},
    }


def _tag(run, info):
    found = {"tag": info.tag, "kinds": info.kinds, "points": info.points, "spans": info.spans, "bytes": info.bytes}
    if "scalar" in info.kinds:
        series = run.series(info.tag, orphans=True)
        found["series"] = [
            np.asarray(column).tobytes() for column in (series.steps, series.wall_times, series.values, series.orphaned)
        ]
    if "histogram" in info.kinds:
        found["histograms"] = [(h.step, h.wall_time, h.num) for h in run.histograms(info.tag)]
    return found
