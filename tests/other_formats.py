"""For tests of formats other than event files: write a file, read its only run, and compare its points."""

import math
import time

from pulseboard.read.discovery.log_directory import log_directories_from
from pulseboard.read.format import Candidate, reader_for
from pulseboard.read.runs import Runs

MAX_SECS = 10


def written(path, text, *, encoding="utf-8"):
    """Write a file with this text or these bytes; returns its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


def runs_of_other_formats(path):
    """The runs in a file or directory that are not event files: run name -> run."""
    runs = Runs(log_directories_from([path]))
    runs.refresh()
    return {run.name: run for run in sorted(runs.of_other_formats(), key=lambda run: run.name)}


def only_run(path):
    """The only run in a file or directory."""
    runs = runs_of_other_formats(path)
    assert len(runs) == 1, list(runs)
    return next(iter(runs.values()))


def points(run, tag):
    """[(step, value)], with NaN as the text 'nan', so that it equals itself."""
    series = run.series(tag)
    return [
        (step, "nan" if math.isnan(value) else value)
        for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True)
    ]


def levels(run):
    return [note.level for note in run.notes()]


def read_directly(path):
    """Every run that the file's reader yields. Nothing catches its exceptions on the way."""
    found = reader_for(Candidate(str(path), given=True))
    return [] if found is None else list(found.read(str(path)))


def check_soundness(path):
    """Read a file of any content. Its reader must not raise or hang, and its series must be sound."""
    began = time.process_time()
    for run in read_directly(path):
        for tag, series in run.series.items():
            assert isinstance(tag, str)
            lengths = {len(series.steps), len(series.wall_times), len(series.values), len(series.orphaned)}
            assert len(lengths) == 1
            assert series.steps.dtype.kind == "i"
        assert all(str(note) for note in run.notes)
    assert time.process_time() - began < MAX_SECS
