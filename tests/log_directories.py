"""Small log directories for tests, and everything a log says about one, so that two can be compared."""

import dataclasses
from pathlib import Path

import numpy as np
from builders import event_file, scalars, version


def write_run(directory, *points, tag="loss", name="events.out.tfevents.1", wall_time=0.0):
    """A run of one file: the version record, then a scalar for each (step, value). Returns the file."""
    events = scalars(tag, *(points or [(0, 0.0)]))
    for event in events:
        event.wall_time += wall_time
    path = Path(directory) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(event_file(version(), *events))
    return path


def append(path, *points, tag="loss"):
    """More scalars at the end of a file."""
    with Path(path).open("ab") as stream:
        stream.write(event_file(*scalars(tag, *points)))


def values(run, tag="loss"):
    """The values of a tag, as a list."""
    return run.series(tag).values.tolist()


def all_of(log):
    """Everything a log says, as plain data."""
    return {"runs": [_run(run) for run in log.values()], "notes": sorted(map(str, log.notes()))}


def _run(run):
    return {
        "name": run.name,
        "aliases": run.aliases,
        "directory": run.directory,
        "files": [file.path for file in run.files],
        "size": run.size_bytes,
        "points": run.points,
        "active": (str(run.started), str(run.ended)),
        "restarts": [dataclasses.astuple(restart) for restart in run.restarts()],
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
