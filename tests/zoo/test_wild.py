"""The score of published logs: the table of states, and the logs themselves if they are here."""

import pytest
from zoo.scoring import wild
from zoo.scoring.collect import Collected, Folder
from zoo.scoring.figures import COLUMNS, figures
from zoo.scoring.matching import find
from zoo.scoring.table import rows_in
from zoo.scoring.verdicts import SHARED, all_verdicts
from zoo_samples import diagnosed, headline, verdict

needs_logs = pytest.mark.skipif(
    not all((SHARED / name).is_dir() for name in ("wild", "corpus")),
    reason="the published logs are not part of the repository (../shared/wild, ../shared/corpus)",
)


@pytest.fixture
def state(monkeypatch):
    run = diagnosed("run", headline("loss-nan", "critical"))
    monkeypatch.setattr(
        wild, "all_verdicts", lambda: [verdict("run", "nan"), verdict("run", "nan", folder="wild/other")]
    )
    return Collected((Folder("wild/a+b", (run,)),))


def test_verdicts_on_folders_that_were_not_read_are_left_out(state):
    assert [case.id for case in wild.cases_of(state)] == ["wild/a+b/run"]


def test_a_new_row_joins_the_table_and_kept_states_are_scored_again(tmp_path, state, monkeypatch):
    wild.keep(state, tmp_path, "before (commit d4)")
    first = wild.updated("", tmp_path, "before (commit d4)")
    old = rows_in(COLUMNS, first)
    assert old["before (commit d4)"][1] == "100 % (1 of 1)"
    monkeypatch.setattr(wild, "all_verdicts", lambda: [verdict("run", "healthy")])
    wild.keep(state, tmp_path, "after")
    rows = rows_in(COLUMNS, wild.updated(first, tmp_path, "after"))
    assert list(rows) == ["before (commit d4)", "after"]
    assert rows["before (commit d4)"][1] == rows["after"][1] == "0 % (0 of 1)"


def test_rows_of_states_that_are_not_here_stay_as_they_are(tmp_path, state):
    wild.keep(state, tmp_path, "before")
    text = wild.updated("", tmp_path, "before")
    wild.keep(state, tmp_path / "elsewhere", "after")
    assert (
        rows_in(COLUMNS, wild.updated(text, tmp_path / "elsewhere", "after"))["before"]
        == rows_in(COLUMNS, text)["before"]
    )


def test_the_summary_names_folders_without_a_diagnosis(state):
    failed = Collected((*state.folders, Folder("wild/c+d", error="not finished after 180 s")))
    text = wild.summary(figures(wild.cases_of(failed)), failed)
    assert "no diagnosis of wild/c+d: not finished after 180 s" in text


def test_missing_logs_are_reported_not_scored(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(wild, "SHARED", tmp_path)
    assert not wild.available()
    assert "not part of the repository" in capsys.readouterr().out


@needs_logs
@pytest.mark.parametrize("folder", ["wild/Abonia1+YOLOv8-Fire-and-Smoke-Detection", "corpus/AllanHenri+PIBIC_PETOI"])
def test_every_label_of_a_published_folder_finds_its_run(tmp_path, folder):
    collected = wild.diagnosed(tmp_path, jobs=1, only=folder)
    rows = [one for one in all_verdicts() if one.folder == folder]
    assert rows
    assert [one.run for one in rows if find(one.name, collected.runs) is None] == []
