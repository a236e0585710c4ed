"""Every labelled run of the corpus opens by the path that its label gives, and holds what the label says."""

import collections
import re

import pytest
from foreign_logs import CORPUS, need_corpus, only_run

from pulseboard.read import any_runs
from pulseboard.read.foreign import ForeignRun

_FIGURES = re.compile(r"(\S+) n=(\d+) (\S+?)→min (\S+?)@")


def labels():
    if not (CORPUS / "labels.tsv").is_file():
        return []
    lines = (CORPUS / "labels.tsv").read_text(encoding="utf-8").splitlines()
    return [dict(zip(lines[0].split("\t"), line.split("\t"), strict=False)) for line in lines[1:]]


def test_every_labelled_run_opens_by_its_path():
    need_corpus()
    formats = collections.Counter()
    for label in labels():
        runs = any_runs(CORPUS / label["run"])
        assert len(runs) == 1, label["run"]
        run = next(iter(runs.values()))
        assert run.points > 0, label["run"]
        formats[run.format if isinstance(run, ForeignRun) else "event file"] += 1
    assert formats == {"csv": 41, "event file": 27, "text": 25, "lightning-csv": 15, "wandb": 2, "mlflow-files": 2}


@pytest.mark.parametrize("label", [x for x in labels() if "tfevents" not in x["run"]], ids=lambda x: x["run"][-60:])
def test_a_labelled_run_has_the_points_that_its_label_counts(label):
    run = only_run(CORPUS / label["run"])
    figures = _FIGURES.findall(label["evidence"])
    assert figures
    for tag, count, first, least in figures:
        series = run.series(tag)
        assert len(series) == int(count)
        assert series.values[0] == pytest.approx(float(first), rel=1e-3)
        if len(series) < 90:  # of longer ones the label has a smoothed curve's
            assert series.values.min() == pytest.approx(float(least), rel=1e-3)
        assert (series.steps[1:] >= series.steps[:-1]).all()
    assert all(note.level == "info" for note in run.notes())


def test_the_corpus_as_a_whole_has_no_run_twice_and_none_of_what_is_no_log():
    runs = any_runs(need_corpus())
    formats = collections.Counter(run.format for run in runs.foreign())
    assert formats == {
        "csv": 55,
        "lightning-csv": 47,
        "text": 31,
        "mlflow-files": 7,
        "wandb": 7,
        "json": 6,
    }
    # The Trainer's checkpoints have the points of the event files beside them.
    assert not [name for name in runs if "checkpoint" in name or name.endswith("/results")]
    assert not [name for name in runs if "wandb-summary" in name]
    assert all(run.points for run in runs.foreign())
