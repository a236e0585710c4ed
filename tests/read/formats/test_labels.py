"""Every labeled run of the corpus opens by the path that its label gives, and holds what the label says."""

import collections
import re

import pytest
from corpus import CORPUS, MISSING, need_corpus
from other_formats import only_run

from pulseboard.read import any_runs
from pulseboard.read.parsed_run import ParsedRun

_FIGURES = re.compile(r"(\S+) n=(\d+) (\S+?)→min (\S+?)@")


def labels():
    if not (CORPUS / "labels.tsv").is_file():
        return []
    lines = (CORPUS / "labels.tsv").read_text(encoding="utf-8").splitlines()
    return [dict(zip(lines[0].split("\t"), line.split("\t"), strict=False)) for line in lines[1:]]


def test_every_labeled_run_opens_by_its_path():
    need_corpus()
    formats = collections.Counter()
    for label in labels():
        runs = any_runs(CORPUS / label["run"])
        assert len(runs) == 1, label["run"]
        run = next(iter(runs.values()))
        assert run.points > 0, label["run"]
        formats[run.format if isinstance(run, ParsedRun) else "event file"] += 1
    assert formats == {"csv": 41, "event file": 27, "text": 25, "lightning-csv": 15, "wandb": 2, "mlflow-files": 2}


@pytest.mark.skipif(not labels(), reason=MISSING)
@pytest.mark.parametrize("label", [x for x in labels() if "tfevents" not in x["run"]], ids=lambda x: x["run"][-60:])
def test_a_labeled_run_has_the_points_that_its_label_counts(label):
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


def test_no_run_of_the_corpus_is_listed_twice_and_other_files_are_not_runs():
    runs = any_runs(need_corpus())
    formats = collections.Counter(run.format for run in runs.of_other_formats())
    assert formats == {
        "csv": 55,
        "lightning-csv": 47,
        "text": 31,
        "mlflow-files": 7,
        "wandb": 7,
        "json": 4,  # one file holds three trainings; four more copy event files and belong to their runs
        "sb3-monitor": 1,  # eight environments of one training
        "sb3-evaluations": 1,
        "aim": 1,  # of several runs whose files are incomplete, the one with values
    }
    # The Trainer's checkpoints have the points of the event files next to them.
    assert not [name for name in runs if "checkpoint" in name or name.endswith("/results")]
    assert not [name for name in runs if "wandb-summary" in name]
    assert all(run.points for run in runs.of_other_formats())
