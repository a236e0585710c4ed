"""For the tests of other formats: files written, read as one run, and its points as plain data."""

import math
from pathlib import Path

import pytest

from pulseboard.read.foreign import foreign_runs

CORPUS = Path(__file__).parents[1].parent / "shared" / "corpus"


def need_corpus():
    """Skip where the real logs are not beside the repository."""
    if not CORPUS.is_dir():
        pytest.skip(f"the corpus of real logs is not here: {CORPUS}")
    return CORPUS


def written(path, text, *, encoding="utf-8"):
    """A file with this text, or these bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


def only_run(path):
    """The one run that a file or a directory holds."""
    runs = foreign_runs(path)
    assert len(runs) == 1, list(runs)
    return next(iter(runs.values()))


def points(run, tag):
    """[(step, value)], with NaN as the text 'nan' so that it equals itself."""
    series = run.series(tag)
    return [
        (step, "nan" if math.isnan(value) else value)
        for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True)
    ]


def levels(run):
    return [note.level for note in run.notes()]
