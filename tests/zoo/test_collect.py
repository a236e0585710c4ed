"""Diagnosing many folders, and keeping the results."""

import time

import pytest
from zoo.scoring import collect as module
from zoo.scoring.collect import collect, diagnose_folder, load, save
from zoo_samples import broken, falling, log


def test_a_folder_is_diagnosed_run_by_run(tmp_path):
    log(tmp_path / "good" / "log.csv", falling(300))
    log(tmp_path / "bad" / "log.csv", broken(200))
    folder = diagnose_folder("wild/a+b", tmp_path)
    by_run = {run.run: run for run in folder.runs}
    assert sorted(by_run) == ["bad/log.csv", "good/log.csv"]
    assert [line.slug for line in by_run["bad/log.csv"].headlines if line.severity == "critical"] == ["loss-nan"]
    assert [line for line in by_run["good/log.csv"].headlines if line.alarms] == []
    assert by_run["good/log.csv"].logged_steps == 300
    assert by_run["good/log.csv"].id == "wild/a+b/good/log.csv"
    assert by_run["good/log.csv"].checks > 0
    assert "good/log.csv" in by_run["good/log.csv"].names


def test_a_log_that_is_the_start_of_another_is_the_same_training(tmp_path):
    log(tmp_path / "checkpoint-100" / "log.csv", falling(100))
    log(tmp_path / "checkpoint-300" / "history.csv", falling(300), column="loss")
    log(tmp_path / "other" / "log.csv", falling(300, seed=1))
    same = {run.run: run.same_as for run in diagnose_folder("wild/a+b", tmp_path).runs}
    assert same == {
        "checkpoint-100/log.csv": "checkpoint-300/history.csv",
        "checkpoint-300/history.csv": "",
        "other/log.csv": "",
    }


def test_a_few_equal_points_do_not_make_two_logs_one_training(tmp_path):
    log(tmp_path / "a" / "log.csv", [2.0, 1.0, 0.5, 0.5])
    log(tmp_path / "b" / "log.csv", [2.0, 1.0, 0.5, 0.5, 0.4, 0.3])
    assert {run.same_as for run in diagnose_folder("wild/a+b", tmp_path).runs} == {""}


def test_a_folder_without_runs_says_so(tmp_path):
    assert diagnose_folder("wild/a+b", tmp_path).error == "no runs"


def test_a_folder_that_takes_too_long_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "read", lambda path: time.sleep(60))
    folder = diagnose_folder("wild/a+b", tmp_path, timeout_secs=1)
    assert (folder.runs, folder.error) == ((), "not finished after 1 s")


def test_a_folder_that_fails_costs_only_itself(tmp_path, monkeypatch):
    def fail(path):
        raise RuntimeError("broken reader")

    monkeypatch.setattr(module, "read", fail)
    assert diagnose_folder("wild/a+b", tmp_path).error == "RuntimeError: broken reader"


@pytest.fixture
def collected(tmp_path):
    log(tmp_path / "logs" / "good" / "log.csv", falling(300))
    log(tmp_path / "logs" / "bad" / "log.csv", broken(200))
    folders = {"wild/good": tmp_path / "logs" / "good", "wild/bad": tmp_path / "logs" / "bad"}
    return folders, collect(folders, tmp_path / "cache", jobs=1)


def test_results_are_kept_until_the_source_or_the_logs_change(tmp_path, collected, monkeypatch):
    folders, first = collected

    def refuse(*args, **kwargs):
        raise AssertionError("diagnosed again")

    monkeypatch.setattr(module, "ProcessPoolExecutor", refuse)
    assert collect(folders, tmp_path / "cache") == first
    log(folders["wild/bad"] / "log.csv", falling(100))
    with pytest.raises(AssertionError, match="diagnosed again"):
        collect(folders, tmp_path / "cache")
    monkeypatch.setattr(module, "source_hash", lambda: "other")
    with pytest.raises(AssertionError, match="diagnosed again"):
        collect({"wild/good": folders["wild/good"]}, tmp_path / "cache")


def test_a_state_that_was_kept_is_the_same_when_it_is_loaded(tmp_path, collected):
    _, first = collected
    assert [len(folder.runs) for folder in first.folders] == [1, 1]
    save(first, tmp_path / "states" / "before.json")
    assert load(tmp_path / "states" / "before.json") == first
