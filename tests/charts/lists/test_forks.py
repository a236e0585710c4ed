"""Runs that were forked from others: what is recorded, and the curve that charts draw."""

import json

import pytest

import pulseboard as pb
from pulseboard.charts.local import LocalCharts
from pulseboard.charts.query import Query
from pulseboard.record.setting import BadSetting


def record(directory, name, steps, *, level, **options):
    with pb.init(dir=directory, run_id=name, report_to="tensorboard", telemetry_secs=0, **options) as run:
        for step in steps:
            run.log({"loss": level + step}, step=step)
    return run


def curve(charts, run, tag="loss"):
    (window,) = charts.window(Query([run], [tag]))
    return dict(zip(window.columns["x"].tolist(), window.columns["y"].tolist(), strict=True))


def charts_of(directory):
    charts = LocalCharts(pb.read(directory))
    charts.refresh()
    return charts


def test_a_fork_has_its_parents_curve_up_to_the_step_and_then_its_own(tmp_path):
    parent = record(tmp_path, "parent", range(10), level=0)
    child = record(tmp_path, "child", range(5, 8), level=100, fork_from=parent, step=4)
    assert json.loads((child.directory / "run.json").read_text())["fork"] == {"run": "parent", "step": 4}
    charts = charts_of(tmp_path)
    assert curve(charts, "child") == {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 105, 6: 106, 7: 107}
    assert curve(charts, "parent") == {step: step for step in range(10)}
    assert curve(charts, "child", "=loss * 2")[3] == 6
    forks = {run.name: run.fork and (run.fork.parent, run.fork.step) for run in charts.run_summaries()}
    assert forks == {"parent": None, "child": ("parent", 4)}


def test_steps_that_are_counted_go_on_after_the_fork_and_forks_can_be_forked(tmp_path):
    record(tmp_path, "a", range(6), level=0)
    with pb.init(dir=tmp_path, run_id="b", fork_from=tmp_path / "a", step=2, report_to="tensorboard") as run:
        run.log({"loss": 50.0})
        run.log({"loss": 51.0})
    last = record(tmp_path, "c", [4, 5], level=200, fork_from=run, step=3)
    assert last.id == "c"
    assert curve(charts_of(tmp_path), "c") == {0: 0, 1: 1, 2: 2, 3: 50, 4: 204, 5: 205}


def test_without_a_step_it_is_the_last_one_of_a_run_and_an_error_for_a_name(tmp_path):
    parent = record(tmp_path, "a", range(4), level=0)
    child = record(tmp_path, "b", [4], level=0, fork_from=parent)
    assert json.loads((child.directory / "run.json").read_text())["fork"]["step"] == 3
    with pytest.raises(BadSetting, match="step of the fork"):
        pb.init(dir=tmp_path, run_id="c", fork_from="a", telemetry_secs=0)
    assert not (tmp_path / "c").exists()


def test_a_parent_that_is_gone_or_a_circle_changes_nothing(tmp_path):
    record(tmp_path, "a", range(3), level=0, fork_from="nowhere", step=9)
    assert curve(charts_of(tmp_path), "a") == {0: 0, 1: 1, 2: 2}
    record(tmp_path, "b", range(3), level=0, fork_from="c", step=9)
    record(tmp_path, "c", range(3), level=1, fork_from="b", step=9)
    assert curve(charts_of(tmp_path), "b") == {0: 0, 1: 1, 2: 2}
